"""What einsum, tensordot and linear algebra need."""

from __future__ import annotations

from typing import Any

from shapewright.rules import einsum_equation
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.needs.dims import named
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import (
    dims,
    dtype_unmet,
    is_tensor,
    resized,
    same_dtype,
    text,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import KIND

SQUARE = """
linalg.inv inverse linalg.det det linalg.slogdet slogdet logdet linalg.cholesky cholesky
linalg.eigh linalg.eigvalsh linalg.eig linalg.eigvals matrix_exp linalg.matrix_exp
""".split()


@needs("torch.einsum", "torch.functional.einsum")
def einsum(equation: Any, *operands: Any) -> Unmet | None:
    """A letter for each dim, and one size for each letter."""
    inner = len(operands) == 1 and isinstance(operands[0], tuple | list)
    given = list(operands[0] if inner else operands)
    if not isinstance(equation, str) or not all(map(is_tensor, given)):
        return None
    names = [f"operands.0.{n}" if inner else f"operands.{n}" for n in range(len(given))]
    texts = [part.replace(" ", "") for part in equation.partition("->")[0].split(",")]
    if len(texts) != len(given):
        return Unmet(
            "einsum-operands",
            f"{{op}} has letters for {len(texts)} tensors in `{equation}`, got"
            f" {len(given)}",
            has=len(given),
            needs=len(texts),
        )
    for name, letters, each in zip(names, texts, given, strict=True):
        wrong = of_letters(equation, name, letters, each)
        if wrong is not None:
            return wrong
    if any("..." in letters for letters in texts):
        return None
    wrong = of_sizes(equation, names, texts, given)
    if wrong is not None:
        return wrong
    try:
        einsum_equation.read(equation, [each.shape for each in given])
    except Misfit as misfit:
        said = str(misfit).removeprefix("einsum(): ")
        return Unmet("einsum-equation", f"{{op}} cannot read `{equation}`: {said}")
    return same_dtype(*zip(names, given, strict=True))


def label(name: str) -> str:
    """The name of an operand in a message."""
    return f"{{{name.replace('.', '_')}}}"


def of_letters(equation: str, name: str, letters: str, each: Meta) -> Unmet | None:
    """As many letters as dims."""
    dots = "..." in letters
    count, rank = len(letters.replace("...", "")), len(each.shape)
    if count == rank or (dots and count < rank):
        return None
    made: tuple[Grant, ...] = ()
    if not dots and count == rank + 1:
        made = (Grant(name, Made((1, *each.shape), each.dtype)),)
    return Unmet(
        "einsum-letters",
        f"{{op}} has {count} letters `{letters}` for {label(name)} {text(each.shape)},"
        f" which has {dims(rank)}",
        Place(name),
        has=rank,
        needs=count,
        grants=made,
        guessed=True,
    )


def of_sizes(
    equation: str, names: list[str], texts: list[str], given: list[Meta]
) -> Unmet | None:
    """The first tensor with a letter decides its size."""
    seen: dict[str, tuple[int, str, int]] = {}
    for name, letters, each in zip(names, texts, given, strict=True):
        for dim, letter in enumerate(letters):
            size = each.shape[dim]
            own = letters.index(letter) != dim
            if letter not in seen or (seen[letter][0] == 1 and not own):
                seen[letter] = size, name, dim
            elif size != seen[letter][0] and (own or size != 1):
                wanted, first, at = seen[letter]
                if own:
                    wanted, first, at = each.shape[letters.index(letter)], name, 0
                    if wanted == size:
                        continue
                return Unmet(
                    "einsum-sizes",
                    f"{{op}} gives `{letter}` in `{equation}` two sizes: {wanted} in"
                    f" {label(first)}, {size} in {label(name)} {text(each.shape)}",
                    Place(name, dim),
                    Place(first, at),
                    size,
                    wanted,
                    (Grant(name, resized(each, dim, wanted)),),
                    guessed="->" in equation and letter in equation.partition("->")[2],
                )
    return None


@needs("torch.functional.tensordot", "torch.tensordot")
def tensordot(a: Meta, b: Meta, dims: Any = 2, out: Any = None) -> Unmet | None:
    """Pairs of dims of equal sizes."""
    if isinstance(dims, int):
        count = dims
        if count < 0 or count > min(len(a.shape), len(b.shape)):
            return None
        pairs = [(len(a.shape) - count + n, n) for n in range(count)]
    elif isinstance(dims, tuple | list) and len(dims) == 2:
        one, two = ((d,) if isinstance(d, int) else tuple(d) for d in dims)
        if len(one) != len(two):
            return None
        pairs = list(zip(one, two, strict=True))
    else:
        return None
    for x, y in pairs:
        if not (
            -len(a.shape) <= x < len(a.shape) and -len(b.shape) <= y < len(b.shape)
        ):
            return None
        if a.shape[x] != b.shape[y]:
            if 1 in (a.shape[x], b.shape[y]):
                continue
            x, y = x % len(a.shape), y % len(b.shape)
            return Unmet(
                "inner-dim-mismatch",
                f"{{op}} sums dim {x} of {{a}} {text(a.shape)} with dim {y} of {{b}}"
                f" {text(b.shape)}: {a.shape[x]} against {b.shape[y]}",
                Place("a", x),
                Place("b", y),
                a.shape[x],
                b.shape[y],
                (Grant("a", resized(a, x, b.shape[y])),),
            )
    return same_dtype(("a", a), ("b", b))


@needs(
    *named(
        *(f"torch.{word}" for word in SQUARE),
        *(f"torch.Tensor.{word}" for word in SQUARE if "." not in word),
    )
)
def square(input: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Matrices with as many rows as columns, of floats."""
    return of_square("input", input) or of_floats("input", input)


def of_square(name: str, input: Meta) -> Unmet | None:
    """As many rows as columns."""
    shape = input.shape
    rank = len(shape)
    if rank < 2:
        return Unmet(
            "wrong-rank",
            f"{{op}} takes matrices, at least 2 dims, got {rank}: {{{name}}} is"
            f" {text(shape)}",
            Place(name),
            has=rank,
            needs=2,
            grants=(Grant(name, Made((*shape, *shape)[:2] or (1, 1), input.dtype)),)
            if rank
            else (),
        )
    if shape[-1] == shape[-2]:
        return None
    return Unmet(
        "not-square",
        f"{{op}} takes square matrices, got {shape[-2]} rows and {shape[-1]} columns:"
        f" {{{name}}} is {text(shape)}",
        Place(name, rank - 1),
        Place(name, rank - 2),
        shape[-1],
        shape[-2],
        (Grant(name, resized(input, rank - 1, shape[-2])),),
        guessed=True,
    )


def of_floats(name: str, input: Meta) -> Unmet | None:
    """Floats of at least 32 bits."""
    if KIND.get(input.dtype, 2) < 2 or input.dtype in ("float16", "bfloat16"):
        return dtype_unmet(name, input, "float32", "{op} takes float32 or float64")
    return None


@needs("torch.linalg.solve")
def solve(A: Meta, B: Meta, **options: Any) -> Unmet | None:
    """A square matrix, and right sides with as many rows."""
    wrong = of_square("A", A)
    if wrong is not None or not B.shape:
        return wrong
    if not options.get("left", True):
        return None
    vector = len(B.shape) == 1 or (
        len(A.shape) - 1 == len(B.shape) and B.shape == A.shape[:-1]
    )
    at = len(B.shape) - (1 if vector else 2)
    if B.shape[at] == A.shape[-1]:
        return None
    return Unmet(
        "inner-dim-mismatch",
        f"{{op}} needs {A.shape[-1]} rows in {{B}} {text(B.shape)}, as {{A}}"
        f" {text(A.shape)} has, got {B.shape[at]}",
        Place("B", at),
        Place("A", len(A.shape) - 1),
        B.shape[at],
        A.shape[-1],
        (Grant("B", resized(B, at, A.shape[-1])),),
    )
