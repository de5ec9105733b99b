"""Dropout: the input itself in evaluation, a product with noise in training.

Mirrors `aten/src/ATen/native/Dropout.cpp`. On a GPU training uses a fused kernel, whose
grad_fn has another name.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.elementwise import pointwise, written
from shapewright.rules.meta import Made, Metadata, Misfit, Same
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous, like


def _product(input: Any, p: float, feature: bool) -> Made:
    """`input * noise`; features share one value per sample and channel."""
    dtype, shape = input.dtype, input.shape
    if p == 1:
        return pointwise(dtype, _name(input), input, Made((), dtype, ()))
    if feature:
        noise = tuple(size if dim < 2 else 1 for dim, size in enumerate(shape))
        return pointwise(
            dtype, _name(input), input, Made(noise, dtype, contiguous(noise))
        )
    noise_stride = like(shape, input.stride)
    return pointwise(dtype, _name(input), input, Made(shape, dtype, noise_stride))


def _name(input: Any) -> str | None:
    return "MulBackward0" if input.device == "cpu" else None


def _dropped(input: Any, p: Any, train: Any, inplace: Any, feature: bool) -> Any:
    if p == 0 or not train or not prod(input.shape):
        return Same(0)
    if input.dtype not in FLOATING or type(p) not in (int, float):
        return NotImplemented
    if feature and len(input.shape) < 2:
        return NotImplemented
    if not inplace:
        return _product(input, p, feature)
    written(input, input.dtype, None)
    return Same(0, True, _name(input))


def _functional(feature: bool, ndims: tuple[int, ...]) -> Metadata:
    def metadata(
        input: Any, p: Any = 0.5, training: Any = True, inplace: Any = False
    ) -> Any:
        if p < 0.0 or p > 1.0:
            raise Misfit(
                f"dropout probability has to be between 0 and 1, but got {p}",
                "ValueError",
            )
        if ndims and len(input.shape) not in ndims:
            return NotImplemented
        return _dropped(input, p, training, inplace, feature)

    return metadata


rule("torch.nn.functional.dropout", random=True)(_functional(False, ()))
rule("torch.nn.functional.dropout2d", random=True)(_functional(True, (4,)))


rule("torch.nn.functional.dropout1d", random=True)(_functional(True, (3,)))
rule("torch.nn.functional.dropout3d", random=True)(_functional(True, (5,)))


def _alpha(
    input: Any, p: Any = 0.5, training: Any = False, inplace: Any = False
) -> Any:
    """Noise that keeps mean and variance; in training as a new tensor only."""
    if not 0 <= p <= 1 or inplace:
        return NotImplemented
    if p == 0 or not training or not prod(input.shape):
        return Same(0)
    if input.dtype not in FLOATING or p == 1:
        return NotImplemented
    if input.stride != contiguous(input.shape):
        return NotImplemented
    node = "AddBackward0" if input.device == "cpu" else None
    return Made(input.shape, input.dtype, None, node)


rule("torch.nn.functional.alpha_dropout", random=True)(_alpha)


@rule("torch.dropout", random=True)
def dropout(input: Any, p: float, train: bool) -> Any:
    """As `torch.nn.functional.dropout`, without a check of `p` in Python."""
    return _dropped(input, p, train, False, False) if 0 <= p <= 1 else NotImplemented


@rule("torch.feature_dropout", random=True)
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Whole channels at a time."""
    return _dropped(input, p, train, False, True) if 0 <= p <= 1 else NotImplemented
