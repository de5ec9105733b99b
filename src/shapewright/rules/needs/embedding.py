"""What tables and one-hot vectors need: whole numbers within range."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Meta
from shapewright.rules.needs.known import out_of_range
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dtype_unmet
from shapewright.rules.needs.unmet import Grant, Unmet

WHOLE = ("int64", "int32")


@needs("torch.nn.functional.embedding")
def embedding(input: Meta, weight: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Row numbers, int64 or int32, of rows that are there."""
    return of_rows(input, weight, "input", "weight")


@needs("torch.embedding")
def aten_embedding(
    weight: Meta, indices: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """The same, the table first."""
    return of_rows(indices, weight, "indices", "weight")


def of_rows(index: Meta, weight: Meta, name: str, table: str) -> Unmet | None:
    """Whole numbers, within the table."""
    if len(weight.shape) != 2:
        return None
    if index.dtype not in WHOLE:
        why = "{op} looks rows up by whole numbers, int64"
        return dtype_unmet(name, index, "int64", why)
    return out_of_range(name, index, weight.shape[0], table, 0)


@needs("torch.nn.functional.one_hot")
def one_hot(tensor: Meta, num_classes: int = -1) -> Unmet | None:
    """Class numbers, int64, below the number of classes."""
    if tensor.dtype != "int64":
        why = "{op} takes class numbers, int64"
        return dtype_unmet("tensor", tensor, "int64", why)
    values: tuple[int, ...] | None = getattr(tensor, "values", None)
    if num_classes <= 0 or not values:
        return None
    top = max(values)
    if min(values) < 0 or top < num_classes:
        return None
    return Unmet(
        "index-out-of-range",
        f"{{op}} makes {num_classes} classes, 0 to {num_classes - 1}, but {{tensor}}"
        f" has {top}",
        None,
        None,
        top,
        num_classes,
        (Grant("num_classes", top + 1),),
        guessed=True,
    )
