"""What functions need that take a dim and indices along it."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.shapes import (
    dims,
    dtype_unmet,
    text,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet


def of_dim(self: Meta, name: str, dim: Any) -> Unmet | None:
    """A dim that is there."""
    rank = max(len(self.shape), 1)
    if not isinstance(dim, int) or -rank <= dim < rank:
        return None
    fits = rank - 1 if dim > 0 else -rank
    return Unmet(
        "dim-out-of-range",
        f"{{op}} has no dim {dim}: {{{name}}} {text(self.shape)} has"
        f" {dims(len(self.shape))}",
        has=dim,
        needs=fits,
        grants=(Grant("dim", fits),),
        guessed=True,
    )


def whole(name: str, index: Meta, only: tuple[str, ...] = ("int64",)) -> Unmet | None:
    """Indices are int64."""
    if index.dtype in only:
        return None
    return dtype_unmet(name, index, "int64", "{op} takes indices of int64")


def same_rank(name: str, input: Meta, other: str, index: Meta) -> Unmet | None:
    """Indices have a dim for each dim."""
    rank, have = len(input.shape), len(index.shape)
    if rank == have:
        return None
    grants: tuple[Grant, ...] = ()
    if have < rank:
        made = (*index.shape, *(1,) * (rank - have))
        made = tuple(min(a, b) for a, b in zip(made, input.shape, strict=True))
        grants = (Grant(other, Made(made, index.dtype)),)
    else:
        grants = (Grant(other, Made(input.shape, index.dtype)),)
    return Unmet(
        "wrong-rank",
        f"{{op}} needs as many dims in {{{other}}} as in {{{name}}}:"
        f" {text(index.shape)} against {text(input.shape)}",
        Place(other),
        Place(name),
        have,
        rank,
        grants,
    )


def within(
    small: str, index: Meta, large: str, input: Meta, at: int | None
) -> Unmet | None:
    """No size is larger, but along one dim."""
    for d, (have, most) in enumerate(zip(index.shape, input.shape, strict=True)):
        if d != at and have > most:
            made = tuple(
                s if n == at else min(s, m)
                for n, (s, m) in enumerate(zip(index.shape, input.shape, strict=True))
            )
            return Unmet(
                "index-larger-than-source",
                f"{{op}} needs {{{small}}} no larger than {{{large}}} in dim {d}:"
                f" {have} against {most}, {text(index.shape)} against"
                f" {text(input.shape)}",
                Place(small, d),
                Place(large, d),
                have,
                most,
                (Grant(small, Made(made, index.dtype)),),
            )
    return None


def vector(index: Meta, name: str = "index", what: str = "indices") -> Unmet | None:
    """One dim of indices."""
    if len(index.shape) <= 1:
        return None
    count = 1
    for size in index.shape:
        count *= size
    return Unmet(
        "wrong-rank",
        f"{{op}} takes {what} in 1 dim, got {len(index.shape)}: {{{name}}} is"
        f" {text(index.shape)}",
        Place(name),
        has=len(index.shape),
        needs=1,
        grants=(Grant(name, Made((count,), index.dtype)),),
    )
