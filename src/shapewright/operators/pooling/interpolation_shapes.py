"""Metadata rules for interpolation, `grid_sample`, `affine_grid` and
`gumbel_softmax`.

The output keeps the memory format that the input hints.
"""

from __future__ import annotations

from math import floor
from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, Misfit, rule
from shapewright.operators.promotion_and_broadcasting import FLOATING, is_plain
from shapewright.sizes.strides import compute_hinted

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
        raise Misfit(_too_small(shape[2:], sizes))
    made = (*shape[:2], *sizes)
    suffix = "Aa" if antialias else ""
    grad_fn = f"Upsample{_NODE[mode]}{ndim - 2}D{suffix}Backward0"
    return Made(
        made, input.dtype, compute_hinted(made, input.shape, input.stride), grad_fn
    )


def _too_small(have: Shape, sizes: Shape) -> str:
    """Return torch's message for an output without elements."""
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
    """Return the requested or scaled sizes; None for unusual arguments."""
    given = size if size is not None else scale_factor
    values = given if isinstance(given, list | tuple) else (given,) * len(have)
    kinds = (int,) if size is not None else (int, float)
    if len(values) != len(have) or any(type(value) not in kinds for value in values):
        return None
    if size is not None:
        return tuple(values)
    return tuple(floor(float(n) * f) for n, f in zip(have, values, strict=True))


FLOATS = ("float32", "float64")


@rule("torch.nn.functional.grid_sample")
def grid_sample(
    input: Meta, grid: Meta, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """`(8, 3, 32, 32)` at (8, 16, 20, 2) gives (8, 3, 16, 20).

    Without `align_corners` torch warns, so the call is left to it.
    """
    shape, places = input.shape, grid.shape
    ndim = len(shape)
    if align_corners is None or ndim not in (4, 5) or len(places) != ndim:
        return NotImplemented
    if input.dtype not in FLOATS or grid.dtype != input.dtype:
        return NotImplemented
    if 0 in shape or 0 in places or shape[0] != places[0] or places[-1] != ndim - 2:
        return NotImplemented
    if mode not in ("bilinear", "nearest", "bicubic") or (mode, ndim) == ("bicubic", 5):
        return NotImplemented
    if padding_mode not in ("zeros", "border", "reflection"):
        return NotImplemented
    made = (*shape[:2], *places[1:-1])
    return Made(made, input.dtype, None, f"GridSampler{ndim - 2}DBackward0")


@rule("torch.nn.functional.affine_grid")
def affine_grid(theta: Meta, size: Any, align_corners: bool | None = None) -> Any:
    """`(8, 2, 3)` for images of (8, 3, 32, 32) gives a grid (8, 32, 32, 2)."""
    sizes = tuple(size)
    ndim = len(sizes)
    if align_corners is None or ndim not in (4, 5) or theta.dtype not in FLOATS:
        return NotImplemented
    if any(type(one) is not int or one < 1 for one in sizes):
        return NotImplemented
    if theta.shape != (sizes[0], ndim - 2, ndim - 1):
        return NotImplemented
    made = (sizes[0], *sizes[2:], ndim - 2)
    return Made(made, theta.dtype, None, "AffineGridGeneratorBackward0")


@rule("torch.nn.functional.gumbel_softmax", random=True)
def gumbel_softmax(
    logits: Meta, tau: float = 1, hard: bool = False, eps: float = 1e-10,
    dim: int = -1,
) -> Any:  # fmt: skip
    """`(8, 10)` gives (8, 10)."""
    shape = logits.shape
    if logits.dtype not in FLOATING or not shape or not is_plain(logits):
        return NotImplemented
    if eps != 1e-10 or not -len(shape) <= dim < len(shape):
        return NotImplemented
    node = "AddBackward0" if hard else "SoftmaxBackward0"
    return Made(shape, logits.dtype, None, node)
