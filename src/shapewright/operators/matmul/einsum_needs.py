"""Needs of einsum and tensordot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shapewright.findings.codes import (
    EINSUM_EQUATION,
    EINSUM_LETTERS,
    EINSUM_OPERANDS,
    EINSUM_SIZES,
    INNER_DIM_MISMATCH,
    REPEATED_DIM,
    SUMMED_DIMS,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.matmul import einsum_shapes
from shapewright.operators.metadata_rules import Made, Meta, Misfit
from shapewright.operators.need_checks import (
    dims,
    is_tensor,
    resized,
    same_dtype,
    text,
    word,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.reduction.needs import of_dim


@needs("torch.einsum", "torch.functional.einsum")
def einsum(equation: Any, *operands: Any) -> Unmet | None:
    """Check that each dim has a letter and that each letter has a single size."""
    inner = len(operands) == 1 and isinstance(operands[0], tuple | list)
    tensors = list(operands[0] if inner else operands)
    if not isinstance(equation, str) or not all(map(is_tensor, tensors)):
        return None
    names = [
        f"operands.0.{n}" if inner else f"operands.{n}" for n in range(len(tensors))
    ]
    texts = [part.replace(" ", "") for part in equation.partition("->")[0].split(",")]
    if len(texts) != len(tensors):
        return Unmet(
            EINSUM_OPERANDS,
            f"{{op}} has letters for {len(texts)} tensors in `{equation}`, got"
            f" {len(tensors)}",
            has=len(tensors),
            needs=len(texts),
            makes=_as_written(equation, texts, tensors),
            guessed=True,
        )
    for name, letters, tensor in zip(names, texts, tensors, strict=True):
        wrong = _of_letters(equation, name, letters, tensor)
        if wrong is not None:
            return wrong
    if any("..." in letters for letters in texts):
        return None
    wrong = _of_sizes(equation, names, texts, tensors)
    if wrong is not None:
        return wrong
    try:
        einsum_shapes.read(equation, [tensor.shape for tensor in tensors])
    except Misfit as misfit:
        reason = str(misfit).removeprefix("einsum(): ")
        return Unmet(EINSUM_EQUATION, f"{{op}} cannot read `{equation}`: {reason}")
    return same_dtype(*zip(names, tensors, strict=True))


def _as_written(
    equation: str, texts: list[str], tensors: list[Meta]
) -> tuple[Made, ...]:
    """Return the output that the letters after the arrow give, if sizes are known."""
    sizes: dict[str, int] = {}
    for letters, tensor in zip(texts, tensors, strict=False):
        if len(letters) == len(tensor.shape):
            sizes |= dict(zip(letters, tensor.shape, strict=True))
    arrow, out = equation.partition("->")[1:]
    wanted = out.replace(" ", "")
    if not arrow or not tensors or not sizes.keys() >= set(wanted):
        return ()
    return (Made(tuple(sizes[letter] for letter in wanted), tensors[0].dtype),)


def _of_letters(equation: str, name: str, letters: str, tensor: Meta) -> Unmet | None:
    """Check that an operand has as many letters as dims."""
    dots = "..." in letters
    count, rank = len(letters.replace("...", "")), len(tensor.shape)
    if count == rank or (dots and count < rank):
        return None
    grants: tuple[Grant, ...] = ()
    if not dots and count == rank + 1:
        grants = (Grant(name, Made((1, *tensor.shape), tensor.dtype)),)
    return Unmet(
        EINSUM_LETTERS,
        f"{{op}} has {count} letters `{letters}` for {word(name)} {text(tensor.shape)},"
        f" which has {dims(rank)}",
        Place(name),
        has=rank,
        needs=count,
        grants=grants,
        guessed=True,
    )


def _of_sizes(
    equation: str, names: list[str], texts: list[str], tensors: list[Meta]
) -> Unmet | None:
    """Check that each dim has the size of the first dim with the same letter."""
    seen: dict[str, tuple[int, str, int]] = {}
    for name, letters, tensor in zip(names, texts, tensors, strict=True):
        for dim, letter in enumerate(letters):
            size = tensor.shape[dim]
            own = letters.index(letter) != dim
            if letter not in seen or (seen[letter][0] == 1 and not own):
                seen[letter] = size, name, dim
            elif size != seen[letter][0] and (own or size != 1):
                wanted, first, at = seen[letter]
                if own:
                    wanted, first, at = tensor.shape[letters.index(letter)], name, 0
                    if wanted == size:
                        continue
                return Unmet(
                    EINSUM_SIZES,
                    f"{{op}} gives `{letter}` in `{equation}` two sizes: {wanted} in"
                    f" {word(first)}, {size} in {word(name)} {text(tensor.shape)}",
                    Place(name, dim),
                    Place(first, at),
                    size,
                    wanted,
                    (Grant(name, resized(tensor, dim, wanted)),),
                    guessed="->" in equation and letter in equation.partition("->")[2],
                )
    return None


@needs("torch.functional.tensordot", "torch.tensordot")
def tensordot(a: Meta, b: Meta, dims: Any = 2, out: Any = None) -> Unmet | None:
    """Check that the dims that are summed in pairs have equal sizes."""
    pairs = _summed(a, b, dims)
    if pairs is None or isinstance(pairs, Unmet):
        return pairs
    for n, (x, y) in enumerate(pairs):
        if a.shape[x] != b.shape[y] and 1 not in (a.shape[x], b.shape[y]):
            used = [pair[0] for pair in (*pairs[:n], *pairs[n + 1 :])]
            grant = Grant("a", resized(a, x, b.shape[y]))
            return Unmet(
                INNER_DIM_MISMATCH,
                f"{{op}} sums dim {x} of {{a}} {text(a.shape)} with dim {y} of {{b}}"
                f" {text(b.shape)}: {a.shape[x]} against {b.shape[y]}",
                Place("a", x),
                Place("b", y),
                a.shape[x],
                b.shape[y],
                () if x in used else (grant,),
            )
    return same_dtype(("a", a), ("b", b))


def _summed(a: Meta, b: Meta, dims: Any) -> list[tuple[int, int]] | Unmet | None:
    """Return the pairs of dims that are summed, or what is wrong with `dims`."""
    if type(dims) is int:
        most = min(len(a.shape), len(b.shape))
        if 0 <= dims <= most:
            return [(len(a.shape) - dims + n, n) for n in range(dims)]
        return Unmet(
            SUMMED_DIMS,
            f"{{op}} sums the last dims of {{a}} {text(a.shape)} with the first of"
            f" {{b}} {text(b.shape)}, 0 to {most} of them, got {dims}",
            has=dims,
            needs=most if dims > 0 else 0,
            grants=(Grant("dims", most if dims > 0 else 0),),
            guessed=True,
        )
    if not isinstance(dims, tuple | list) or len(dims) != 2:
        return None
    left, right = ([d] if type(d) is int else list(d) for d in dims)
    if len(left) != len(right):
        fits = min(len(left), len(right))
        return Unmet(
            SUMMED_DIMS,
            f"{{op}} sums dims in pairs, got {len(left)} of {{a}} {text(a.shape)} and"
            f" {len(right)} of {{b}} {text(b.shape)}",
            has=len(right),
            needs=len(left),
            grants=(Grant("dims", (left[:fits], right[:fits])),),
            guessed=True,
        )
    for name, meta, dims_of, place in (("a", a, left, 0), ("b", b, right, 1)):
        wrong = of_dim(name, meta, dims_of, "dims")
        if wrong is not None and wrong.code == REPEATED_DIM:
            return replace(wrong, grants=())
        if wrong is not None:
            fits = wrong.grants[0].value
            both = (
                (fits, right[: len(fits)]) if not place else (left[: len(fits)], fits)
            )
            return replace(wrong, grants=(Grant("dims", both),))
    return [
        (x % len(a.shape), y % len(b.shape)) for x, y in zip(left, right, strict=True)
    ]
