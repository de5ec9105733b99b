"""Interpolation to a size, or by a factor.

The output keeps the memory format that the input hints.
"""

from __future__ import annotations

from math import floor
from typing import Any

from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.registry import rule
from shapewright.rules.strides import hinted

Shape = tuple[int, ...]


_LINEAR = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_NODE = {"nearest": "Nearest", "nearest-exact": "NearestExact", "linear": "Linear",
         "bilinear": "Bilinear", "bicubic": "Bicubic",
         "trilinear": "Trilinear"}  # fmt: skip


@rule("torch.nn.functional.interpolate", "torch.nn.functional.upsample")
def interpolate(
    input: Meta,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """`(8, 3, 32, 32)` by 2 gives (8, 3, 64, 64)."""
    shape, ndim = input.shape, len(input.shape)
    if ndim not in (3, 4, 5) or mode not in _NODE or 0 in shape:
        return NotImplemented
    if input.dtype not in ("float32", "float64") or _LINEAR.get(mode, ndim) != ndim:
        return NotImplemented
    if (size is None) == (scale_factor is None):
        return NotImplemented
    if mode.startswith("nearest") and align_corners is not None:
        return NotImplemented
    if antialias and (mode not in ("bilinear", "bicubic") or ndim != 4):
        return NotImplemented
    if recompute_scale_factor and size is not None:
        return NotImplemented
    sizes = resized(shape[2:], size, scale_factor)
    if sizes is None:
        return NotImplemented
    if min(sizes) < 1:  # torch's data-free kernel lets it pass
        raise Misfit(too_small(shape[2:], sizes))
    made = (*shape[:2], *sizes)
    suffix = "Aa" if antialias else ""
    grad_fn = f"Upsample{_NODE[mode]}{ndim - 2}D{suffix}Backward0"
    return Made(made, input.dtype, hinted(made, input.shape, input.stride), grad_fn)


def too_small(have: Shape, sizes: Shape) -> str:
    """What torch says where nothing would be left."""
    one, two = (
        ", ".join(
            f"{name}: {n}" for name, n in zip("DHW"[-len(have) :], each, strict=True)
        )
        for each in (have, sizes)
    )
    between = " and output" if len(have) == 1 else " output"
    least = "Input and output sizes should be greater than 0"
    return f"{least}, but got input ({one}){between} ({two})"


def resized(have: Shape, size: Any, scale_factor: Any) -> Shape | None:
    """The sizes asked for, or those that the factors make; None for unusual ones."""
    given = size if size is not None else scale_factor
    values = given if isinstance(given, list | tuple) else (given,) * len(have)
    kinds = (int,) if size is not None else (int, float)
    if len(values) != len(have) or any(type(value) not in kinds for value in values):
        return None
    if size is not None:
        return tuple(values)
    return tuple(floor(float(n) * f) for n, f in zip(have, values, strict=True))
