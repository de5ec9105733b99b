"""Names and defaults of the arguments of torch's calls, for the table by op.

A record keeps where an argument stood in its call. `F.conv2d(x, w, None, (2, 2))` is
shown as `F.conv2d(stride=(2, 2))`: arguments by name, without those that say what torch
does anyway. The signatures are torch's own (`tests/views/test_argument_names.py`
compares them).
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

_POOL = "input, kernel_size, stride=None, padding=0"
_DILATED = f"{_POOL}, dilation=1, ceil_mode=False, return_indices=False"
_CONVOLVED = "input, weight, bias=None, stride=1, padding=0"
_TRANSPOSED = f"{_CONVOLVED}, output_padding=0, groups=1, dilation=1"
_DROPPED = "input, p=0.5, training=True, inplace=False"
_BY_DIM = "self, dim=None, keepdim=False"

SIGNATURES = {
    **{f"F.conv{n}d": f"{_CONVOLVED}, dilation=1, groups=1" for n in (1, 2, 3)},
    **{f"F.conv_transpose{n}d": _TRANSPOSED for n in (1, 2, 3)},
    **{f"F.max_pool{n}d": _DILATED for n in (1, 2, 3)},
    "F.avg_pool1d": f"{_POOL}, ceil_mode=False, count_include_pad=True",
    **{
        f"F.avg_pool{n}d": f"{_POOL}, ceil_mode=False, count_include_pad=True, "
        "divisor_override=None"
        for n in (2, 3)
    },
    **{f"F.adaptive_avg_pool{n}d": "input, output_size" for n in (1, 2, 3)},
    **{
        f"F.adaptive_max_pool{n}d": "input, output_size, return_indices=False"
        for n in (1, 2, 3)
    },
    **{f"F.{name}": _DROPPED for name in ("dropout", "dropout1d", "dropout2d")},
    "F.alpha_dropout": "input, p=0.5, training=False, inplace=False",
    "F.batch_norm": "input, running_mean, running_var, weight=None, bias=None, "
    "training=False, momentum=0.1, eps=1e-05",
    "F.layer_norm": "input, normalized_shape, weight=None, bias=None, eps=1e-05",
    "F.rms_norm": "input, normalized_shape, weight=None, eps=None",
    "F.group_norm": "input, num_groups, weight=None, bias=None, eps=1e-05",
    "F.embedding": "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, "
    "scale_grad_by_freq=False, sparse=False",
    "F.interpolate": "input, size=None, scale_factor=None, mode='nearest', "
    "align_corners=None, recompute_scale_factor=None, antialias=False",
    "F.pad": "input, pad, mode='constant', value=None",
    "F.unfold": "input, kernel_size, dilation=1, padding=0, stride=1",
    "F.fold": "input, output_size, kernel_size, dilation=1, padding=0, stride=1",
    "F.softmax": "input, dim=None, _stacklevel=3, dtype=None",
    "F.log_softmax": "input, dim=None, _stacklevel=3, dtype=None",
    "F.normalize": "input, p=2.0, dim=1, eps=1e-12, out=None",
    "F.relu": "input, inplace=False",
    "F.silu": "input, inplace=False",
    "F.leaky_relu": "input, negative_slope=0.01, inplace=False",
    "F.gelu": "input, approximate='none'",
    "F.one_hot": "tensor, num_classes=-1",
    "F.pixel_shuffle": "input, upscale_factor",
    "F.scaled_dot_product_attention": "query, key, value, attn_mask=None, "
    "dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False",
    "F.cross_entropy": "input, target, weight=None, size_average=None, "
    "ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0",
    "F.mse_loss": "input, target, size_average=None, reduce=None, reduction='mean', "
    "weight=None",
    "torch.cat": "tensors, dim=0",
    "torch.stack": "tensors, dim=0",
    "torch.chunk": "input, chunks, dim=0",
    "torch.split": "tensor, split_size_or_sections, dim=0",
    "torch.gather": "input, dim, index",
    "torch.topk": "input, k, dim=-1, largest=True, sorted=True",
    "torch.softmax": "input, dim, dtype=None",
    "torch.flatten": "input, start_dim=0, end_dim=-1",
    "Tensor.flatten": "self, start_dim=0, end_dim=-1",
    "Tensor.chunk": "self, chunks, dim=0",
    "Tensor.split": "self, split_size, dim=0",
    "Tensor.unbind": "self, dim=0",
    "Tensor.softmax": "self, dim, dtype=None",
    "Tensor.gather": "self, dim, index",
    "Tensor.scatter_": "self, dim, index, src",
    "Tensor.repeat_interleave": "self, repeats, dim=None",
    "Tensor.cumsum": "self, dim",
    "Tensor.argmax": _BY_DIM,
    "Tensor.squeeze": "self, dim=None",
    **{
        f"{place}.{name}": _BY_DIM
        for place in ("Tensor", "torch")
        for name in ("sum", "mean", "amax", "amin", "all", "any")
    },
}
"""Calls, and their parameters with torch's defaults."""


@cache
def _parse(name: str) -> tuple[tuple[str, Any], ...]:
    """Return the parameters of a call with their defaults; none if it has no entry."""
    text = SIGNATURES.get(name)
    if text is None:
        return ()
    function = ast.parse(f"lambda {text}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    names = [argument.arg for argument in function.args.args]
    free = [REQUIRED] * (len(names) - len(function.args.defaults))
    defaults = [ast.literal_eval(default) for default in function.args.defaults]
    return tuple(zip(names, [*free, *defaults], strict=True))


REQUIRED = object()
"""In place of the default of an argument that has none."""


def name_arguments(
    name: str, arguments: tuple[tuple[str, Any], ...]
) -> list[tuple[str, Any]]:
    """Return the arguments of a call by name, without those equal to their default.

    Example: ``(("1", (2, 2)), ("2", None))`` of `F.max_pool2d` is
    ``[("kernel_size", (2, 2))]``. Of calls without an entry, positions stay, and
    keywords that are None or False are left out.
    """
    parameters = _parse(name)
    defaults = dict(parameters)
    named = []
    for place, value in arguments:
        at = int(place) if place.isdecimal() else None
        if at is not None and (at >= len(parameters) or not at):
            named.append((place, value))
            continue
        called = place if at is None else parameters[at][0]
        default = defaults.get(called, REQUIRED)
        if default is REQUIRED:
            if at is None and (value is None or value is False):
                continue
        elif _is_same(value, default):
            continue
        named.append((called, value))
    return named


def _is_same(value: Any, default: Any) -> bool:
    """Return whether a value is a default; `(1, 1)` is the default 1."""
    if isinstance(value, tuple | list) and value:
        return all(_is_same(item, default) for item in value)
    return type(value) is type(default) and bool(value == default)
