"""What functions need that write a part of a tensor and give the whole."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.dims import both, named, of_dim
from shapewright.rules.needs.matrices import of_plane
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import differs, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet


def of_part(input: Meta, src: Meta, part: tuple[int, ...]) -> Unmet | None:
    """A source of just the shape of the part."""
    if src.shape == part:
        return None
    dim = differs(src.shape, part)
    return Unmet(
        "written-shape",
        f"{{op}} writes a part {text(part)} of {{input}} {text(input.shape)}, but"
        f" {{src}} is {text(src.shape)}",
        Place("src", dim),
        Place("input"),
        text(src.shape),
        text(part),
        (Grant("src", Made(part, src.dtype)),),
    )


@needs(*named(*both("select_scatter")))
def select_scatter(input: Meta, src: Meta, dim: Any, index: Any) -> Unmet | None:
    """One place of a dim."""
    wrong = of_dim("input", input, dim)
    if wrong is not None or type(dim) is not int or not input.shape:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    if type(index) is int and not -size <= index < size:
        return Unmet(
            "index-out-of-range",
            f"{{op}} writes at {index} of dim {at} of {{input}} {text(input.shape)},"
            f" which has 0 to {size - 1}",
            Place("input", at),
            has=size,
            needs=index + 1 if index >= 0 else -index,
            grants=(Grant("index", 0),),
        )
    return of_part(input, src, input.shape[:at] + input.shape[at + 1 :])


@needs(*named(*both("slice_scatter")))
def slice_scatter(
    input: Meta,
    src: Meta,
    dim: Any = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Unmet | None:
    """A stretch of a dim."""
    wrong = of_dim("input", input, dim)
    if wrong is not None or type(step) is not int or step < 1 or not input.shape:
        return wrong
    at = dim % len(input.shape)
    count = len(range(*slice(start, end, step).indices(input.shape[at])))
    return of_part(input, src, (*input.shape[:at], count, *input.shape[at + 1 :]))


@needs(*named(*both("diagonal_scatter")))
def diagonal_scatter(
    input: Meta, src: Meta, offset: int = 0, dim1: Any = 0, dim2: Any = 1
) -> Unmet | None:
    """The diagonal of two dims, which comes last."""
    wrong = of_plane(input, dim1, dim2, ("dim1", "dim2"))
    if wrong is not None or type(offset) is not int:
        return wrong
    rank = len(input.shape)
    rows, columns = input.shape[dim1 % rank], input.shape[dim2 % rank]
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    kept = [s for d, s in enumerate(input.shape) if d not in (dim1 % rank, dim2 % rank)]
    return of_part(input, src, (*kept, max(count, 0)))
