"""transformer_engine: layers of transformers, whose products may be of 8 bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._dot_product import DotProductAttention

SOURCE = (
    "signatures of https://docs.nvidia.com/deeplearning/transformer-engine/user-guide"
    "/api/pytorch.html, 2.8"
)
VERSION = "2.8.0"
GATED = ("geglu", "glu", "qgeglu", "reglu", "swiglu", "sreglu", "clamped_swiglu")
ACTIVATIONS: dict[str, Any] = {
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "qgelu": lambda x: x * torch.sigmoid(1.702 * x), "relu": F.relu, "silu": F.silu,
    "srelu": lambda x: F.relu(x).square(), "glu": torch.sigmoid,
}  # fmt: skip
GATES = {"geglu": "gelu", "glu": "glu", "qgeglu": "qgelu", "reglu": "relu",
         "swiglu": "silu", "sreglu": "srelu", "clamped_swiglu": "silu"}  # fmt: skip
_STATE = {"enabled": False}


@contextmanager
def fp8_autocast(
    enabled: bool = True, calibrating: bool = False, fp8_recipe: Any = None,
    fp8_group: Any = None, _graph: bool = False,
) -> Iterator[None]:  # fmt: skip
    """Let products be of 8 bits in the block: rows a multiple of 8, widths of 16."""
    before = _STATE["enabled"]
    _STATE["enabled"] = enabled
    try:
        yield
    finally:
        _STATE["enabled"] = before


@contextmanager
def autocast(
    enabled: bool = True, calibrating: bool = False, recipe: Any = None,
    amax_reduction_group: Any = None, _graph: bool = False,
) -> Iterator[None]:  # fmt: skip
    """As `fp8_autocast`, by its later name."""
    with fp8_autocast(enabled, calibrating, recipe, amax_reduction_group):
        yield


def _require_sizes(*tensors: Tensor) -> None:
    """Refuse sizes that products of 8 bits refuse, where they are wanted."""
    for tensor in tensors if _STATE["enabled"] else ():
        if prod(tensor.shape[:-1]) % 8 or tensor.shape[-1] % 16:
            raise ValueError(
                "FP8 execution requires the product of all dimensions except the last "
                "to be divisible by 8 and the last dimension to be divisible by 16, but"
                f" got tensor with dims={list(tensor.shape)} (product of leading dims ="
                f" {prod(tensor.shape[:-1])}, last dim = {tensor.shape[-1]})"
            )


def _make_parameter(*sizes: int, device: Any, dtype: Any, fill: Any = None) -> Any:
    if device == "cuda" and not torch.cuda.is_available():
        device = None
    tensor = torch.empty(*sizes, device=device, dtype=dtype)
    tensor = tensor.normal_(0, 0.023) if fill is None else tensor.fill_(fill)
    return nn.Parameter(tensor.detach())


def _split_sizes(sizes: tuple[int, int], mode: str | None, tp: int) -> tuple[int, int]:
    """Return the sizes (in, out) that one of `tp` processes has."""
    assert mode in (None, "row", "column"), f"parallel_mode {mode} not supported"
    for name, size in (("row", sizes[0]), ("column", sizes[1])):
        if mode == name and size % tp:
            raise ValueError(f"{size} is not divisible by {tp}")
    return (
        sizes[0] // tp if mode == "row" else sizes[0],
        sizes[1] // tp if mode == "column" else sizes[1],
    )


def _multiply(inp: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    assert inp.shape[-1] == weight.shape[-1], "GEMM not possible"
    _require_sizes(inp, weight)
    dtype = inp.dtype
    if torch.is_autocast_enabled(inp.device.type):
        dtype = torch.get_autocast_dtype(inp.device.type)
    bias = None if bias is None else bias.to(dtype)
    return F.linear(inp.to(dtype), weight.to(dtype), bias)


class Linear(nn.Module):
    """(..., in_features): (..., out_features)."""

    def __init__(
        self, in_features: int, out_features: int, sequence_parallel: bool = False,
        fuse_wgrad_accumulation: bool = False, tp_group: Any = None, tp_size: int = 1,
        get_rng_state_tracker: Any = None, rng_tracker_name: str | None = None,
        init_method: Any = None, bias: bool = True, return_bias: bool = False,
        params_dtype: Any = None, parallel_mode: str | None = None,
        parameters_split: Any = None, device: Any = "cuda", ub_overlap_ag: bool = False,
        ub_overlap_rs: bool = False, ub_overlap_rs_dgrad: bool = False,
        ub_bulk_dgrad: bool = False, ub_bulk_wgrad: bool = False,
        ub_name: str | None = None, delay_wgrad_compute: bool = False,
        symmetric_ar_type: str | None = None, save_original_input: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes = _split_sizes((in_features, out_features), parallel_mode, tp_size)
        self.in_features, self.out_features = sizes
        self.return_bias = return_bias
        where = {"device": device, "dtype": params_dtype}
        self.weight = _make_parameter(sizes[1], sizes[0], **where)
        self.bias = _make_parameter(sizes[1], fill=0.0, **where) if bias else None

    def forward(
        self, inp: Tensor, is_first_microbatch: bool | None = None,
        fp8_output: bool | None = False, fp8_grad: bool | None = False,
    ) -> Any:  # fmt: skip
        out = _multiply(inp, self.weight, None if self.return_bias else self.bias)
        return (out, self.bias) if self.return_bias else out


class LayerNorm(nn.Module):
    """(..., *normalized_shape): the same shape."""

    normalization = "LayerNorm"

    def __init__(
        self, normalized_shape: Any = None, eps: float = 1e-5,
        sequence_parallel: bool | None = None, params_dtype: Any = None,
        zero_centered_gamma: bool = False, hidden_size: int | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = hidden_size if normalized_shape is None else normalized_shape
        if shape is None:
            raise ValueError(
                "Neither `normalized_shape` nor `hidden_size` arguments were specified"
            )
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        where = {
            "device": kwargs.get("device") or "cuda",
            "dtype": params_dtype or kwargs.get("dtype"),
        }
        self.eps, self.zero_centered_gamma = eps, zero_centered_gamma
        start = 0.0 if zero_centered_gamma else 1.0
        self.weight = _make_parameter(*sizes, fill=start, **where)
        self.bias = None
        if self.normalization == "LayerNorm":
            self.bias = _make_parameter(*sizes, fill=0.0, **where)

    def forward(self, input: Tensor) -> Tensor:
        return _normalize(
            input, self.weight, self.bias, self.eps, self.normalization,
            self.zero_centered_gamma,
        )  # fmt: skip


class RMSNorm(LayerNorm):
    """(..., *normalized_shape): the same shape, by its root mean square."""

    normalization = "RMSNorm"


def _normalize(
    x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, kind: str, centred: bool
) -> Tensor:
    sizes = list(weight.shape)
    if list(x.shape[-len(sizes) :]) != sizes:
        raise ValueError(
            f"Input tensor (shape={tuple(x.shape)}) and weight tensor "
            f"(shape={tuple(sizes)}) are not compatible"
        )
    weight = 1 + weight if centred else weight
    if kind == "RMSNorm":
        return F.rms_norm(x.float(), sizes, weight.float(), eps).to(x.dtype)
    shift = None if bias is None else bias.float()
    return F.layer_norm(x.float(), sizes, weight.float(), shift, eps).to(x.dtype)


class LayerNormLinear(nn.Module):
    """(..., in_features): (..., out_features), of what is normed."""

    def __init__(
        self, in_features: int, out_features: int, eps: float = 1e-5,
        sequence_parallel: bool = False, fuse_wgrad_accumulation: bool = False,
        tp_group: Any = None, tp_size: int = 1, get_rng_state_tracker: Any = None,
        init_method: Any = None, bias: bool = True, normalization: str = "LayerNorm",
        return_bias: bool = False, params_dtype: Any = None,
        parallel_mode: str | None = None, return_layernorm_output: bool = False,
        return_layernorm_output_gathered: bool = False, parameters_split: Any = None,
        zero_centered_gamma: bool = False, device: Any = "cuda",
        ub_overlap_ag: bool = False, ub_overlap_rs: bool = False,
        ub_overlap_rs_dgrad: bool = False, ub_bulk_wgrad: bool = False,
        ub_bulk_dgrad: bool = False, ub_name: str | None = None,
        delay_wgrad_compute: bool = False, symmetric_ar_type: str | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        assert normalization in ("LayerNorm", "RMSNorm"), (
            "Unsupported normalization type!"
        )
        sizes = _split_sizes((in_features, out_features), parallel_mode, tp_size)
        self.eps, self.kind, self.centred = eps, normalization, zero_centered_gamma
        self.return_bias = return_bias
        self.return_layernorm_output = return_layernorm_output
        where = {"device": device, "dtype": params_dtype}
        start = 0.0 if zero_centered_gamma else 1.0
        self.layer_norm_weight = _make_parameter(in_features, fill=start, **where)
        self.layer_norm_bias = None
        if normalization == "LayerNorm":
            self.layer_norm_bias = _make_parameter(in_features, fill=0.0, **where)
        self.weight = _make_parameter(sizes[1], sizes[0], **where)
        self.bias = _make_parameter(sizes[1], fill=0.0, **where) if bias else None

    def forward(
        self, inp: Tensor, is_first_microbatch: bool | None = None,
        fp8_output: bool | None = False, fp8_grad: bool | None = False,
    ) -> Any:  # fmt: skip
        assert inp.shape[-1] == len(self.layer_norm_weight), "GEMM not possible"
        normed = _normalize(
            inp, self.layer_norm_weight, self.layer_norm_bias, self.eps, self.kind,
            self.centred,
        )  # fmt: skip
        out = _multiply(normed, self.weight, None if self.return_bias else self.bias)
        more = ((self.bias,) if self.return_bias else ()) + (
            (normed,) if self.return_layernorm_output else ()
        )
        return (out, *more) if more else out


class LayerNormMLP(nn.Module):
    """(..., hidden_size): the same shape."""

    def __init__(
        self, hidden_size: int, ffn_hidden_size: int, eps: float = 1e-5,
        sequence_parallel: bool = False, return_bias: bool = False,
        get_rng_state_tracker: Any = None, tp_group: Any = None, tp_size: int = 1,
        init_method: Any = None, bias: bool = True, normalization: str = "LayerNorm",
        activation: str = "gelu", activation_params: dict[str, Any] | None = None,
        output_layer_init_method: Any = None, fuse_wgrad_accumulation: bool = False,
        params_dtype: Any = None, return_layernorm_output: bool = False,
        return_layernorm_output_gathered: bool = False, seq_length: int | None = None,
        micro_batch_size: int | None = None, set_parallel_mode: bool = False,
        zero_centered_gamma: bool = False, device: Any = "cuda",
        ub_overlap_ag: bool = False, name: str | None = None,
        ub_overlap_rs: bool = False, ub_overlap_rs_dgrad: bool = False,
        ub_bulk_dgrad: bool = False, ub_bulk_wgrad: bool = False,
        delay_wgrad_compute: bool = False, symmetric_ar_type: str | None = None,
        checkpoint: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        assert normalization in ("LayerNorm", "RMSNorm"), (
            "Unsupported normalization type!"
        )
        if activation not in (*ACTIVATIONS, *GATES):
            raise NotImplementedError(f"Activation type {activation} is not supported!")
        self.activation, self.return_bias = activation, return_bias
        self.return_layernorm_output = return_layernorm_output
        self.eps, self.kind, self.centred = eps, normalization, zero_centered_gamma
        width = ffn_hidden_size // (tp_size if set_parallel_mode else 1)
        wide = 2 * width if activation in GATED else width
        where = {"device": device, "dtype": params_dtype}
        start = 0.0 if zero_centered_gamma else 1.0
        self.layer_norm_weight = _make_parameter(hidden_size, fill=start, **where)
        self.layer_norm_bias = None
        if normalization == "LayerNorm":
            self.layer_norm_bias = _make_parameter(hidden_size, fill=0.0, **where)
        self.fc1_weight = _make_parameter(wide, hidden_size, **where)
        self.fc1_bias = _make_parameter(wide, fill=0.0, **where) if bias else None
        self.fc2_weight = _make_parameter(hidden_size, width, **where)
        self.fc2_bias = (
            _make_parameter(hidden_size, fill=0.0, **where) if bias else None
        )

    def forward(self, inp: Tensor, is_first_microbatch: bool | None = None) -> Any:
        assert inp.shape[-1] == len(self.layer_norm_weight), "GEMM not possible"
        normed = _normalize(
            inp, self.layer_norm_weight, self.layer_norm_bias, self.eps, self.kind,
            self.centred,
        )  # fmt: skip
        inner = _multiply(normed, self.fc1_weight, self.fc1_bias)
        if self.activation in GATED:
            gate, up = inner.chunk(2, -1)
            inner = ACTIVATIONS[GATES[self.activation]](gate) * up
        else:
            inner = ACTIVATIONS[self.activation](inner)
        bias = None if self.return_bias else self.fc2_bias
        out = _multiply(inner, self.fc2_weight, bias)
        more = ((self.fc2_bias,) if self.return_bias else ()) + (
            (normed,) if self.return_layernorm_output else ()
        )
        return (out, *more) if more else out


_PYTORCH: dict[str, Any] = {
    "Linear": Linear, "LayerNorm": LayerNorm, "RMSNorm": RMSNorm,
    "LayerNormLinear": LayerNormLinear, "LayerNormMLP": LayerNormMLP,
    "DotProductAttention": DotProductAttention, "fp8_autocast": fp8_autocast,
    "autocast": autocast,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "pytorch": _PYTORCH, "common": {}, "common.recipe": {},
}  # fmt: skip
