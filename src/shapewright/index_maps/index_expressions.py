"""Index expressions that families share: broadcast operands, places in row-major order,
and windows.

The sizes of windows are those of `sizes/window_sizes.py`.

    >>> describe_geometry(map_of_a_convolution)  # of 224 x 224, with weights of 7 x 7
    ('floor((224 + 2*3 - 1*(7 - 1) - 1) / 2) + 1 = 112', ...)

Size formulas are those of torch's documentation of `Conv2d`, `ConvTranspose2d`,
`MaxPool2d`, `AvgPool2d` and `Unfold`, one for each spatial dim.

    >>> i, j, k = out_letters(3)
    >>> place((i, j, k), (2, 3, 4))          # of an element of a (2, 3, 4) tensor
    12*i + 4*j + k
    >>> index_at(place((i, j, k), (2, 3, 4)), (6, 4), {"i": 2, "j": 3, "k": 4})
    (3*i + j, k)

Division is dropped wherever the sizes of the letters show that it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from shapewright.index_maps.index_map import (
    LETTERS,
    IndexMap,
    Loop,
    Read,
    Within,
    constant,
    out_letters,
)
from shapewright.sizes.expressions import (
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
    number,
    total,
)
from shapewright.sizes.strides import contiguous
from shapewright.sizes.window_sizes import Window

Shape = tuple[int, ...]
MOST = len(LETTERS)
"""Dims up to which there are letters."""


def build_broadcast_index(
    shape: Shape, out: Shape, letters: Sequence[Expression] = ()
) -> tuple[Expression, ...]:
    """Return the index at which an output element reads an operand broadcast to `out`.

    Dims that the operand lacks are left out, a stretched size of 1 is read at 0, and so
    is one that the output lacks.
    """
    more = max(len(shape) - len(out), 0)
    shape, lacking = shape[more:], len(out) - len(shape) + more
    own = (letters or out_letters(len(out)))[lacking:]
    wanted = out[lacking:]
    return (number(0),) * more + tuple(
        number(0) if size == 1 != want else letter
        for size, want, letter in zip(shape, wanted, own, strict=True)
    )


def operand(
    name: str, value: Any, out: Shape, letters: Sequence[Expression] = ()
) -> Read:
    """Return the read of a broadcast tensor, or the number given in its place."""
    if not hasattr(value, "shape"):
        return constant(value)
    return Read(name, build_broadcast_index(tuple(value.shape), out, letters))


def index_vector(index: Expression, shape: Shape) -> tuple[Expression, ...]:
    """Return the index at which a vector is read; further dims have size 1."""
    if len(shape) == 1:
        return (index,)
    return tuple(number(0) if size == 1 else index for size in shape)


def list_letters(text: str) -> tuple[Letter, ...]:
    """Return a letter for each character."""
    return tuple(Letter(name) for name in text)


Sizes = Mapping[str, int]
"""How many numbers each letter goes through, from 0."""
Terms = list[tuple[Expression, int]]


def list_sizes(shape: Sequence[int]) -> dict[str, int]:
    """Return the sizes that the letters of an output run through."""
    return dict(zip(LETTERS, shape, strict=False))


def _find_bounds(expression: Expression, sizes: Sizes) -> tuple[int, int] | None:
    """Return the bounds on the value of an expression, or None if they are unknown."""
    if isinstance(expression, Letter):
        if expression.name not in sizes:
            return None
        return 0, max(sizes[expression.name] - 1, 0)
    if isinstance(expression, Remainder):
        return 0, expression.divisor - 1
    if isinstance(expression, Quotient):
        inside = _find_bounds(expression.over, sizes)
        n = expression.divisor
        return None if inside is None else (inside[0] // n, inside[1] // n)
    if not isinstance(expression, Total):
        return None
    low = high = expression.constant
    for term, factor in expression.terms:
        inside = _find_bounds(term, sizes)
        if inside is None:
            return None
        ends = sorted(end * factor for end in inside)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _split_terms(expression: Expression, step: int) -> tuple[Terms, Expression]:
    """Return the terms whose factor is a multiple of `step`, and the other terms.

    The number in a sum is split too: 13 is 12 and 1 if `step` is 4.
    """
    terms = expression.terms if isinstance(expression, Total) else ((expression, 1),)
    constant = expression.constant if isinstance(expression, Total) else 0
    whole = [(term, factor) for term, factor in terms if not factor % step]
    if constant // step:
        whole.append((number(1), constant // step * step))
    rest: Terms = [(term, factor) for term, factor in terms if factor % step]
    return whole, total([*rest, (constant % step, 1)])


def _find_steps(expression: Expression, divisor: int) -> list[int]:
    """Return the common factors of the divisor and the terms, the largest first."""
    terms = expression.terms if isinstance(expression, Total) else ((expression, 1),)
    return sorted({gcd(factor, divisor) for _, factor in terms}, reverse=True)


def over(expression: Expression, divisor: int, sizes: Sizes) -> Expression:
    """Return `expression // divisor`."""
    known = _find_bounds(expression, sizes)
    if known is not None and known[0] // divisor == known[1] // divisor:
        return number(known[0] // divisor)
    if divisor == 1:
        return expression
    for step in _find_steps(expression, divisor):
        whole, rest = _split_terms(expression, step)
        inside = _find_bounds(rest, sizes)
        if step > 1 and inside is not None and 0 <= inside[0] <= inside[1] < step:
            less = total([(term, factor // step) for term, factor in whole])
            return over(less, divisor // step, sizes)
    whole, rest = _split_terms(expression, divisor)
    if whole:
        less = total([(term, factor // divisor) for term, factor in whole])
        return less + over(rest, divisor, sizes)
    return expression // divisor


def modulo(expression: Expression, divisor: int, sizes: Sizes) -> Expression:
    """Return `expression % divisor`."""
    whole, rest = _split_terms(expression, divisor)
    if whole:
        return modulo(rest, divisor, sizes)
    known = _find_bounds(expression, sizes)
    if known is not None and known[0] // divisor == known[1] // divisor:
        return expression - known[0] // divisor * divisor
    for step in _find_steps(expression, divisor):
        whole, rest = _split_terms(expression, step)
        inside = _find_bounds(rest, sizes)
        if step > 1 and inside is not None and 0 <= inside[0] <= inside[1] < step:
            less = total([(term, factor // step) for term, factor in whole])
            return modulo(less, divisor // step, sizes) * step + rest
    return expression % divisor


def place(letters: Sequence[Expression], shape: Sequence[int]) -> Expression:
    """Return the row-major position of the element at `letters`."""
    steps = contiguous(tuple(shape))
    pairs = zip(letters, shape, steps, strict=True)
    return total([(letter, step) for letter, size, step in pairs if size != 1])


def flatten_index(at: Sequence[Expression], sizes: Sequence[int]) -> Expression:
    """Return the row-major position, with the letters of dims of size 1 included."""
    flat = number(0)
    for index, size in zip(at, sizes, strict=True):
        flat = flat * size + index
    return flat


def index_at(
    expression: Expression, shape: Sequence[int], sizes: Sizes
) -> tuple[Expression, ...]:
    """Return the index of the element at a row-major position in this shape."""
    indices: list[Expression] = []
    for size, step in zip(shape, contiguous(tuple(shape)), strict=True):
        here = over(expression, step, sizes)
        indices.append(modulo(here, max(size, 1), sizes))
    return tuple(indices)


SPACE = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
"""Letters of the places of a window, by the number of spatial dims."""
STEPS = {1: ("u",), 2: ("u", "v"), 3: ("t", "u", "v")}
"""Letters of the steps inside a window."""


def build_read_index(window: Window, place: Expression, step: Expression) -> Expression:
    """Return the index that a step reads; it is outside of the input in the padding."""
    return place * window.stride + step * window.dilation - window.before


def build_inside_conditions(
    window: Window, place: Expression, step: Expression, padded: bool = False
) -> tuple[Within, ...]:
    """Return the conditions for a step to be inside the input or the padded input.

    Empty if every step is.
    """
    before, after = (window.before, window.after) if padded else (0, 0)
    last = (window.places - 1) * window.stride + window.reach - 1 - window.before
    if window.before <= before and last < window.size + after:
        return ()
    at = build_read_index(window, place, step)
    return (Within(at, -before, window.size + after),)


def list_leading(count: int) -> tuple[str, ...]:
    """Return the letters of the dims before the channels."""
    return ("n",) if count == 1 else tuple("ijklmpq"[:count])


def places(dims: int) -> tuple[Letter, ...]:
    """Return the letters of the positions of a window."""
    return tuple(Letter(name) for name in SPACE[dims])


def steps(sizes: Sequence[int]) -> tuple[tuple[Loop, ...], tuple[Expression, ...]]:
    """Return the loops through a window and their letters; a size of 1 has no loop."""
    return build_loops(dict(zip(STEPS[len(sizes)], sizes, strict=True)))


def build_loops(
    sizes: dict[str, int],
) -> tuple[tuple[Loop, ...], tuple[Expression, ...]]:
    """Return loops and their letters; a dim of size 1 has no loop and is read at 0."""
    loops = tuple(Loop(name, size) for name, size in sizes.items() if size != 1)
    letters = tuple(
        number(0) if size == 1 else Letter(name) for name, size in sizes.items()
    )
    return loops, letters


def write_size(sizes: Sequence[int]) -> str:
    """Format sizes as text: `3 x 3`."""
    return " x ".join(map(str, sizes))


def describe_geometry(drawn: IndexMap) -> tuple[str, ...]:
    """Return the size formula of each spatial dim of a map that has windows.

    Empty for others. For `fold`, these are the numbers of blocks, whose product is the
    number of columns.
    """
    if drawn.sizing == "spread":
        sizes = drawn.shape[-len(drawn.windows) :]
        return tuple(map(_format_spread, drawn.windows, sizes))
    return tuple(
        _format_sliding(window, drawn.sizing != "average") for window in drawn.windows
    )


def _format_sliding(window: Window, dilated: bool = True) -> str:
    """Return how often a window fits:
    `floor((8 + 2*1 - 1*(3 - 1) - 1) / 2) + 1 = 4`.
    """
    if window.before == window.after:
        padding = f" + 2*{window.before}"
    else:
        padding = f" + {window.before} + {window.after}"
    if dilated:
        reach = f"{window.dilation}*({window.kernel} - 1) - 1"
    else:
        reach = f"{window.kernel}"
    rounding = "ceil" if window.rounded_up else "floor"
    # A last window that would start past the input is left out.
    less = " - 1" if window.drops_last else ""
    return (
        f"{rounding}(({window.size}{padding} - {reach}) / {window.stride}) + 1{less}"
        f" = {window.places}"
    )


def _format_spread(window: Window, size: int) -> str:
    """Return the size of a transposed convolution: `(4 - 1)*2 - 2*0 + ... = 8`."""
    return (
        f"({window.size} - 1)*{window.stride} - 2*{window.before} + "
        f"{window.dilation}*({window.kernel} - 1) + {size - window.spread()} + 1"
        f" = {size}"
    )
