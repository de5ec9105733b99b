"""Values read at computed places of an image: grid_sample, affine_grid."""

from __future__ import annotations

from typing import Any

from shapewright.rules.elementwise import is_plain
from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule

FLOATS = ("float32", "float64")


@rule("torch.nn.functional.grid_sample")
def grid_sample(
    input: Meta, grid: Meta, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """`(8, 3, 32, 32)` at (8, 16, 20, 2) gives (8, 3, 16, 20).

    Where `align_corners` is not given torch warns, so it answers.
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
    """`(8, 2, 3)` for images of (8, 3, 32, 32) gives places (8, 32, 32, 2)."""
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
