"""The equation of an einsum, read: which letter stands at which dim.

Both forms, `"bij,bjk->bik"` and lists of numbers, become `Axes`: a name for every dim
of every operand and of the output. Nothing here knows strides or kernels. Refusals are
torch's, in its order and its words (`einsum` in `aten/src/ATen/native/Linear.cpp`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shapewright.rules.meta import Misfit

Shape = tuple[int, ...]
Names = tuple[str, ...]
ELLIPSIS = "..."
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""In the order in which torch lays out the letters that no output names."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Every dim by name: a letter, or `...0`, `...1` for what an ellipsis stands for.

    `"...i,i->..."` with shapes (8, 16, 4) and (4,) has operands
    `(("...0", "...1", "i"), ("i",))`, output `("...0", "...1")`, summed `("i",)` and
    sizes 8, 16 and 4. An ellipsis is counted from its last dim on, as broadcasting
    does, so a shorter one begins at a later number. A name that an operand has twice is
    a diagonal. An operand's size of 1 broadcasts.
    """

    operands: tuple[Names, ...]
    output: Names
    summed: Names
    sizes: dict[str, int]


def read(equation: str, shapes: Sequence[Shape]) -> Axes:
    """What the equation says of operands of these shapes.

    Example: `read("ij,jk", [(2, 3), (3, 4)]).output == ("i", "k")`; without an arrow,
    every letter that occurs once comes out, in the order of `LETTERS`.
    """
    left, arrow, right = equation.partition("->")
    labels = _operands(left, len(shapes))
    covered = _covered(labels, shapes)
    dots = tuple(f"...{dim}" for dim in range(covered))
    counts = Counter(label for one in labels for label in one if label != ELLIPSIS)
    if arrow:
        output = _output(right, len(left) + len(arrow), counts)
    else:
        output = (ELLIPSIS, *(label for label in LETTERS if counts[label] == 1))
    summed = () if ELLIPSIS in output else dots
    summed += tuple(x for x in LETTERS if counts[x] and x not in output)
    operands = tuple(
        _named(one, dots[covered + len(one) - 1 - len(shape) :])
        for one, shape in zip(labels, shapes, strict=True)
    )
    sizes = dict.fromkeys((*dots, *counts), 1)
    for place, shape in enumerate(shapes):
        _measure(sizes, operands[place], shape, place)
    return Axes(operands, _named(output, dots), summed, sizes)


def written(subscripts: Sequence[Any], output: Any = None) -> str:
    """The equation of subscripts in lists: `written([[0, 1], [1, 2]]) == "AB,BC"`."""
    text = ",".join("".join(map(_letter, one)) for one in subscripts)
    return text if output is None else f"{text}->{''.join(map(_letter, output))}"


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return ELLIPSIS
    if 0 <= number < len(LETTERS):
        return LETTERS[number]
    raise Misfit(
        "einsum(): subscript in subscript list is not within the valid range [0, 52)",
        "ValueError",
    )


def _named(labels: Names, dots: Names) -> Names:
    """The labels with an ellipsis replaced by the names of its dims."""
    if ELLIPSIS not in labels:
        return labels
    at = labels.index(ELLIPSIS)
    return (*labels[:at], *dots, *labels[at + 1 :])


def _operands(left: str, count: int) -> list[Names]:
    """The labels of each operand, an ellipsis being one label."""
    operands: list[list[str]] = [[]]
    at = 0
    while at < len(left):
        label, here = left[at], operands[-1]
        if label == ",":
            if len(operands) == count:
                raise Misfit(
                    "einsum(): fewer operands were provided than specified in the "
                    "equation"
                )
            operands.append([])
        elif label == ".":
            found = f"einsum(): found '.' for operand {len(operands) - 1}"
            if ELLIPSIS in here:
                raise Misfit(f"{found} for which an ellipsis was already found")
            if left[at : at + 3] != ELLIPSIS:
                raise Misfit(f"{found} that is not part of any ellipsis")
            here.append(ELLIPSIS)
            at += 2
        elif label != " ":
            here.append(_checked(label, at))
        at += 1
    if len(operands) < count:
        raise Misfit(
            "einsum(): more operands were provided than specified in the equation"
        )
    return [tuple(labels) for labels in operands]


def _checked(label: str, at: int) -> str:
    if label in LETTERS:
        return label
    raise Misfit(
        f"einsum(): invalid subscript given at index {at} in the equation string, "
        "subscripts must be in [a-zA-Z]"
    )


def _covered(labels: list[Names], shapes: Sequence[Shape]) -> int:
    """The most dims that an ellipsis stands for."""
    most = 0
    for place, (one, shape) in enumerate(zip(labels, shapes, strict=True)):
        dotted = ELLIPSIS in one
        count = len(one) - dotted
        if count != len(shape) and not (dotted and count < len(shape)):
            raise Misfit(
                f"einsum(): the number of subscripts in the equation ({count}) "
                + ("is more than" if dotted else "does not match")
                + f" the number of dimensions ({len(shape)}) for operand {place}"
                + ("" if dotted else " and no ellipsis was given")
            )
        if dotted:
            most = max(most, len(shape) - count)
    return most


def _output(right: str, start: int, counts: Counter[str]) -> Names:
    """The labels behind the arrow."""
    output: list[str] = []
    at = 0
    while at < len(right):
        label = right[at]
        if label == ".":
            found = "einsum(): found '.' for output "
            if ELLIPSIS in output:
                raise Misfit(f"{found}but an ellipsis (...) was already found")
            if right[at : at + 3] != ELLIPSIS:
                raise Misfit(f"{found}that is not part of any ellipsis (...)")
            output.append(ELLIPSIS)
            at += 2
        elif label != " ":
            output.append(_checked(label, start + at))
            if label in output[:-1] or not counts[label]:
                fault = (
                    "appears more than once in the output" if label in output[:-1]
                    else "does not appear in the equation for any input operand"
                )  # fmt: skip
                raise Misfit(f"einsum(): output subscript {label} {fault}")
        at += 1
    return tuple(output)


def _measure(sizes: dict[str, int], names: Names, shape: Shape, place: int) -> None:
    """Enter the sizes of one operand; refuse what does not broadcast."""
    own: dict[str, int] = {}
    for name, size in zip(names, shape, strict=True):
        if name in own:
            if size != own[name]:
                raise Misfit(
                    f"einsum(): subscript {name} is repeated for operand {place} but "
                    f"the sizes don't match, {size} != {own[name]}"
                )
            continue
        before = sizes[name]
        if size != 1 and before not in (1, size):
            if name.startswith(ELLIPSIS):
                raise Misfit(
                    f"einsum(): dimension {len(own)} covered by ellipsis in operand "
                    f"{place}has size {size} which does not broadcast with previously "
                    f"seen ellipsis with size {before} for the respective dimension"
                )
            raise Misfit(
                f"einsum(): subscript {name} has size {size} for operand {place} which "
                f"does not broadcast with previously seen size {before}"
            )
        own[name] = size
        if size != 1:
            sizes[name] = size
