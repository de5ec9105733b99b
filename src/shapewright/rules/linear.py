"""The linear layer: `input @ weight.T + bias`.

Mirrors `aten/src/ATen/native/Linear.cpp`: one `addmm` over all rows where the input is
contiguous and the bias a row, else `matmul` and an addition in place.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.broadcasting import broadcast
from shapewright.rules.matmul import (
    NUMERIC,
    addmm,
    matmul,
    operand,
    product_flops,
    supported,
    transposed,
)
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import can_cast, promote
from shapewright.rules.registry import rule
from shapewright.rules.strides import is_contiguous
from shapewright.rules.wording import listed


def linear(input: Meta, weight: Meta, bias: Meta | None = None) -> Any:
    """`input @ weight.T + bias`: (8, 16, 400) with (120, 400) gives (8, 16, 120)."""
    shape, matrix, dtype = input.shape, weight.shape, input.dtype
    if (
        shape
        and len(matrix) == 2
        and shape[-1] == matrix[1]
        and dtype == weight.dtype
        and dtype in NUMERIC
        and (bias is None or (bias.dtype == dtype and bias.shape == matrix[:1]))
    ):
        return Made((*shape[:-1], matrix[0]), dtype, None, _linear_grad_fn(input, bias))
    metas = (input, weight) if bias is None else (input, weight, bias)
    return _linear(input, weight, bias) if supported(*metas) else NotImplemented


def _linear_grad_fn(input: Meta, bias: Meta | None) -> str:
    ndim = len(input.shape)
    if bias is None:
        if ndim > 2:
            return "UnsafeViewBackward0"
        return "MmBackward0" if ndim == 2 else "SqueezeBackward4"
    if ndim == 2:
        return "AddmmBackward0"
    flat = is_contiguous(input.shape, input.stride) and _is_row(bias)
    return "ViewBackward0" if flat else "AddBackward0"


def _is_row(bias: Meta) -> bool:
    """Whether linear hopes to fuse this bias into one addmm over all rows."""
    shape = bias.shape
    if len(shape) != 1 and sum(size != 1 for size in shape) != 1:
        return False
    return is_contiguous(shape, bias.stride)


def _linear(input: Meta, weight: Meta, bias: Meta | None) -> Any:
    """The general case, and the words of each misfit."""
    shape, matrix = input.shape, weight.shape
    if not shape or not matrix:
        raise Misfit(
            "both arguments to linear need to be at least 1D, but they are "
            f"{len(shape)}D and {len(matrix)}D"
        )
    if len(matrix) > 2:
        raise Misfit(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(matrix)}D"
        )
    turned = transposed(weight) if len(matrix) == 2 else weight
    if bias is None:
        return matmul(input, turned)
    if len(shape) == 2:
        return addmm(bias, input, turned)
    if is_contiguous(shape, input.stride) and _is_row(bias):
        rows = operand(input)._replace(shape=(prod(shape[:-1]), shape[-1]))
        made = addmm(bias, rows, turned)
        if made is NotImplemented:
            return made
        return Made((*shape[:-1], matrix[0]), made.dtype, None, "ViewBackward0")
    product = matmul(input, turned)
    return product if product is NotImplemented else _added(product, bias)


def _added(product: Made, bias: Meta) -> Any:
    """`product.add_(bias)`."""
    shape = broadcast(product.shape, bias.shape)
    if shape != product.shape:
        raise Misfit(
            f"output with shape {listed(product.shape)} doesn't match the broadcast "
            f"shape {listed(shape)}"
        )
    dtype = promote(product.dtype, bias.dtype)
    if dtype is None or not can_cast(dtype, product.dtype):
        return NotImplemented
    return Made(shape, product.dtype, None, "AddBackward0")


def _linear_flops(input: Meta, weight: Meta, bias: Meta | None = None) -> int:
    if len(weight.shape) == 1:
        return product_flops(input, weight)
    return 2 * prod(input.shape) * weight.shape[0]


rule(
    "torch.nn.functional.linear", "torch._C._nn.linear", flops=_linear_flops
)(linear)  # fmt: skip
