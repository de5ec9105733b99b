"""What distances between vectors need."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.broadcasting import broadcast
from shapewright.rules.needs.dims import of_dim
from shapewright.rules.needs.kinds import (
    no_bools,
    no_complex,
    some_float,
    wide_floats,
)
from shapewright.rules.needs.linear_algebra import of_columns
from shapewright.rules.needs.matmul import of_batch
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import resized, same_dtype, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet


@needs("torch.functional.cdist", "torch.cdist")
def cdist(x1: Meta, x2: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Rows of as many numbers on both sides."""
    wrong = of_columns("x1", x1) or of_columns("x2", x2)
    if wrong is not None:
        return wrong
    one, two = x1.shape[-1], x2.shape[-1]
    if one != two:
        last = len(x2.shape) - 1
        return Unmet(
            "inner-dim-mismatch",
            f"{{op}} compares rows of {{x1}} {text(x1.shape)} and {{x2}}"
            f" {text(x2.shape)} number by number: {one} against {two}",
            Place("x2", last),
            Place("x1", len(x1.shape) - 1),
            two,
            one,
            (Grant("x2", resized(x2, last, one)),),
            guessed=True,
        )
    named = ("x1", x1), ("x2", x2)
    return of_batch(*named) or wide_floats(*named) or same_dtype(*named)


@needs("torch.pdist", "torch.nn.functional.pdist")
def pdist(input: Meta, p: float = 2.0) -> Unmet | None:
    """One matrix, a vector in each row."""
    shape = input.shape
    if len(shape) != 2:
        made = (1, *shape) if len(shape) < 2 else shape[-2:]
        return Unmet(
            "wrong-rank",
            f"{{op}} takes 2 dims (vectors, numbers), got {len(shape)}: {{input}} is"
            f" {text(shape)}",
            Place("input"),
            has=len(shape),
            needs=2,
            grants=(Grant("input", Made(made, input.dtype)),) if shape else (),
            guessed=True,
        )
    return wide_floats(("input", input))


@needs("torch.pairwise_distance", "torch.nn.functional.pairwise_distance")
def pairwise(x1: Meta, x2: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Two that broadcast together."""
    named = ("x1", x1), ("x2", x2)
    return broadcast(named) or no_bools(*named)


@needs("torch.cosine_similarity", "torch.nn.functional.cosine_similarity")
def cosine_similarity(
    x1: Meta, x2: Meta, dim: Any = 1, eps: float = 1e-8
) -> Unmet | None:
    """Two that broadcast together, floats, and a dim of both."""
    wrong = broadcast([("x1", x1), ("x2", x2)])
    if wrong is None:
        longer = ("x1", x1) if len(x1.shape) >= len(x2.shape) else ("x2", x2)
        wrong = of_dim(*longer, dim)
    named = ("x1", x1), ("x2", x2)
    return wrong or no_complex(*named) or some_float(*named)
