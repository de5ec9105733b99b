"""Dtypes that calls take: floats, real numbers, anything but bools."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Meta
from shapewright.rules.needs.shapes import dtype_unmet, is_tensor
from shapewright.rules.needs.unmet import Unmet
from shapewright.rules.promotion import KIND, result_type

Named = tuple[str, Any]
WIDE = ("float32", "float64")


def tensors(named: tuple[Named, ...]) -> list[tuple[str, Meta]]:
    """Those that are tensors of a dtype that is known."""
    return [(name, each) for name, each in named if is_tensor(each)]


def no_bools(*named: Named) -> Unmet | None:
    """Numbers: `-` and sums of bools have no meaning here."""
    for name, each in tensors(named):
        if each.dtype == "bool":
            return dtype_unmet(name, each, "float32", "{op} takes no bools")
    return None


def no_complex(*named: Named) -> Unmet | None:
    """Real numbers."""
    for name, each in tensors(named):
        if KIND.get(each.dtype) == 3:
            wanted = "float64" if each.dtype == "complex128" else "float32"
            return dtype_unmet(name, each, wanted, "{op} takes real numbers")
    return None


def real_floats(*named: Named) -> Unmet | None:
    """Floats, each of them."""
    for name, each in tensors(named):
        if KIND.get(each.dtype, 2) != 2:
            return dtype_unmet(name, each, "float32", "{op} takes floats")
    return None


def wide_floats(*named: Named) -> Unmet | None:
    """float32 or float64, each of them."""
    for name, each in tensors(named):
        if each.dtype not in WIDE:
            return dtype_unmet(name, each, "float32", "{op} takes float32 or float64")
    return None


def some_float(*named: Named) -> Unmet | None:
    """A float among them, for the others to become floats with."""
    given = tensors(named)
    dtype: str | None = given[0][1].dtype if given else None
    for _, each in given[1:]:
        dtype = result_type(given[0][1], each) if dtype is not None else None
    if dtype is None or KIND.get(dtype, 2) >= 2:
        return None
    return dtype_unmet(*given[0], "float32", "{op} takes floats")
