"""What `expand`, `repeat` and their kin need: sizes that grow, numbers for each dim."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.reshaping import of_negative, sizes_of
from shapewright.rules.needs.shapes import dims, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import of_positive


@needs("torch.Tensor.expand")
def expand(self: Meta, *size: Any) -> Unmet | None:
    """Only sizes of 1 grow; new dims come in front."""
    sizes = sizes_of(size)
    return None if sizes is None else of_expanding("self", self, sizes, "size")


@needs("torch.broadcast_to", "torch.Tensor.broadcast_to")
def broadcast_to(input: Meta, size: Any) -> Unmet | None:
    """Only sizes of 1 grow; new dims come in front."""
    sizes = sizes_of(size)
    return None if sizes is None else of_expanding("input", input, sizes, "size")


@needs("torch.Tensor.expand_as")
def expand_as(self: Meta, other: Meta) -> Unmet | None:
    """Only sizes of 1 grow; new dims come in front."""
    return of_expanding("self", self, other.shape, "")


def of_expanding(
    name: str, input: Meta, sizes: tuple[int, ...], argument: str
) -> Unmet | None:
    """A shape that the input broadcasts to."""
    shape = input.shape
    if len(sizes) < len(shape):
        return Unmet(
            "expand-mismatch",
            f"{{op}} needs a size for each of the {dims(len(shape))} of {{{name}}}"
            f" {text(shape)}, got {text(sizes)}",
            Place(name),
            has=len(sizes),
            needs=len(shape),
            grants=(Grant(name, Made((1,) * len(sizes), input.dtype)),)
            if -1 not in sizes
            else (),
        )
    if min(sizes, default=0) < -1:
        return of_negative(argument, sizes)
    made = list(shape)
    wrong: list[int] = []
    for back in range(1, len(sizes) + 1):
        wanted = sizes[-back]
        if back > len(shape):
            if wanted < 0:
                return of_negative(argument, sizes)
        elif wanted not in (-1, shape[-back]) and shape[-back] != 1:
            wrong.append(len(shape) - back)
            made[-back] = 1
    if not wrong:
        return None
    dim = wrong[0]
    return Unmet(
        "expand-mismatch",
        f"{{op}} grows sizes of 1 only: dim {dim} of {{{name}}} {text(shape)} is"
        f" {shape[dim]}, asked for {sizes[dim - len(shape)]} in {text(sizes)}",
        Place(name, dim),
        has=shape[dim],
        needs=1,
        grants=(Grant(name, Made(tuple(made), input.dtype)),),
    )


@needs("torch.Tensor.repeat")
def repeat(self: Meta, *sizes: Any, repeats: Any = None) -> Unmet | None:
    """A number for each dim."""
    counts = sizes_of(sizes) if repeats is None else sizes_of((repeats,))
    if counts is not None and min(counts, default=0) < 0:
        return of_positive("sizes" if repeats is None else "repeats", counts, 0)
    if counts is None or len(counts) >= len(self.shape):
        return None
    fits = (1,) * (len(self.shape) - len(counts)) + counts
    return Unmet(
        "repeat-counts",
        f"{{op}} needs a number for each of the {dims(len(self.shape))} of {{self}}"
        f" {text(self.shape)}, got {len(counts)}: {text(counts)}",
        Place("self"),
        has=len(counts),
        needs=len(self.shape),
        grants=(Grant("sizes" if repeats is None else "repeats", fits),),
    )


@needs("torch.Tensor.sum_to_size")
def sum_to_size(self: Meta, *size: Any) -> Unmet | None:
    """A shape that broadcasts to that of the tensor."""
    sizes = sizes_of(size)
    shape = self.shape
    if sizes is None:
        return None
    back = zip(sizes[::-1], shape[::-1], strict=False)
    if len(sizes) <= len(shape) and all(a in (1, b) for a, b in back):
        return None
    if min(sizes, default=0) < 0:
        return of_positive("size", sizes, 0)
    return Unmet(
        "expand-mismatch",
        f"{{op}} sums {{self}} {text(shape)} to a shape that broadcasts to it, got"
        f" {text(sizes)}",
        Place("self"),
        has=text(shape),
        needs=text(sizes),
        grants=(Grant("self", Made(sizes, self.dtype)),),
    )


@needs("torch.tile", "torch.Tensor.tile")
def tile(input: Meta, *dims: Any, **options: Any) -> Unmet | None:
    """Numbers of at least 0."""
    given = options.get("dims")
    counts = sizes_of(dims) if given is None else sizes_of((given,))
    if counts is None or min(counts, default=0) >= 0:
        return None
    return Unmet(
        "not-positive",
        f"{{op}} repeats dims at least 0 times, got {min(counts)} in {text(counts)}",
        has=min(counts),
        needs=0,
        guessed=True,
    )
