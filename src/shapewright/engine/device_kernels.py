"""Make meta tensors take the kernels of another device, in a scope.

On `meta`, attention is decomposed into matrix products, and dropout and RMS norm into
pointwise operators: up to twice the memory of the fused kernels that a CPU or a GPU
runs. Registrations at the dispatcher change that also for composite operators in C++,
and for what backward recomputes, which no function mode sees. They concern meta tensors
only and are removed at the end of the scope.

Private torch API that is used here, and why:

- `torch._C._dispatch_library` (as `Library.m`): `Library.impl` refuses to register a
  composite operator for `Meta`, which `torch.inference_mode()` needs.
- `torch._decomp.meta_table` and `decomposition_table`: torch's own kernels for `Meta`,
  which are called before their strides are put right.
- `Library._destroy`: the only way to remove registrations before the library object is
  collected.
- `torch.utils._foreach_utils._get_foreach_kernels_supported_devices`: the list of
  devices on which optimizers take their `foreach` form; there is no public switch that
  also concerns `clip_grad_norm_`. `_get_fused_kernels_supported_devices` beside it:
  those on which they take `fused=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from torch._decomp import decomposition_table, meta_table

from shapewright.engine.recurrent_kernels import register_recurrent_layers
from shapewright.engine.replacement import replace_attribute
from shapewright.sizes.strides import suggest_format

_ATEN: Any = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float32, torch.float64, *_HALF)


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """What decides which kernels a device runs.

    `capability` is a GPU's compute capability, None for the CPU and for the GPU of a
    Mac, `is_metal`.
    """

    capability: tuple[int, int] | None = None
    is_metal: bool = False


@contextmanager
def use_device_kernels(choice: KernelChoice) -> Iterator[None]:
    """Let meta tensors take the kernels of a device within the block.

    Example: under ``KernelChoice((8, 0))``, attention in bfloat16 is one call of
    `aten._scaled_dot_product_flash_attention`, as on an A100.
    """
    library = torch.library.Library("aten", "IMPL")
    with ExitStack() as stack:
        stack.callback(library._destroy)
        attend = _compute_scores if choice.is_metal else _compute_cpu_attention
        if choice.capability is not None:
            attend = _build_gpu_attention(choice.capability)
            _register_kernel(library, "dropout", _drop_fused)
            _register_kernel(library, "rms_norm", _normalize_fused)
            register_recurrent_layers(library)
            assert library.m is not None
            library.m.impl("_fused_rms_norm", "Meta", _describe_fused_norm)
            _add_meta_devices(stack, "_get_foreach_kernels_supported_devices")
        _add_meta_devices(stack, "_get_fused_kernels_supported_devices")
        assert library.m is not None
        for name in _UPDATES:
            library.m.impl(name, "Meta", _update_in_place)
        _register_kernel(library, "scaled_dot_product_attention", attend)
        _register_kernel(library, "linear", _compute_linear)
        _register_kernel(library, "mish_backward", _compute_mish_gradient)
        yield


_UPDATES = (
    "_fused_sgd_", "_fused_sgd_.tensor_lr", "_fused_adagrad_",
    "_fused_adagrad_.tensor_lr",
)  # fmt: skip
"""Steps of optimizers in one kernel, of which meta tensors have none (2.13)."""


def _update_in_place(*args: Any, **kwargs: Any) -> None:
    """Step in place, without temporary tensors."""


def _register_kernel(
    library: torch.library.Library, name: str, kernel: Callable[..., Any]
) -> None:
    """Register a kernel for meta tensors, with autograd and in inference mode."""
    library.impl(name, kernel, "AutogradMeta")
    assert library.m is not None
    library.m.impl(name, "Meta", kernel)


_REFORMATTED = (
    "convolution", "native_batch_norm", "_native_batch_norm_legit", "pixel_shuffle",
    "_native_batch_norm_legit.no_stats", "reflection_pad2d", "replication_pad2d",
    "upsample_nearest1d", "upsample_nearest1d.vec", "log_sigmoid_forward",
)  # fmt: skip
"""Kernels whose outputs have other strides on the meta device than elsewhere (2.13)."""


@contextmanager
def use_real_strides() -> Iterator[None]:
    """Let kernels of meta tensors return the strides that real ones return.

    Where they do not, a `view` that real tensors refuse would pass, or the reverse: a
    convolution loses the channels-last order, a batch norm keeps a transposed one.
    """
    library = torch.library.Library("aten", "IMPL")
    try:
        assert library.m is not None
        for name in _REFORMATTED:
            packet, _, overload = name.partition(".")
            overloads = getattr(_ATEN, packet, None)
            operator: Any = getattr(overloads, overload or "default", None)
            original = meta_table.get(operator) or decomposition_table.get(operator)
            if original is not None:
                library.m.impl(name, "Meta", _with_real_strides(name, original))
        yield
    finally:
        library._destroy()


def _with_real_strides(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose first output has the strides of a real one."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        out = kernel(*args, **kwargs)
        output = out[0] if isinstance(out, tuple) else out
        hints = args[:2] if name == "convolution" else args[:1]
        layouts = [suggest_format(x.shape, x.stride()) for x in hints]
        layout = next((x for x in layouts if x != "contiguous_format"), layouts[0])
        if name == "convolution" and (
            output.ndim != 4 or not _is_surely_laid_out(args)
        ):
            return out
        laid_out = torch.empty_like(output, memory_format=getattr(torch, layout))
        if laid_out.stride() == output.stride():
            return out
        return (laid_out, *out[1:]) if isinstance(out, tuple) else laid_out

    return answer


def _is_surely_laid_out(args: tuple[Any, ...]) -> bool:
    """Return whether every kernel of a convolution keeps the channels last."""
    return bool(args[-1] == 1 or args[0].dtype == torch.float32)  # the groups


def _add_meta_devices(stack: ExitStack, name: str) -> None:
    """Add meta tensors to the devices that a function of torch lists: those on which
    optimizers and `clip_grad_norm_` choose `foreach`, or take `fused=True`.
    """

    def add_meta(original: Callable[[], list[str]]) -> Callable[[], list[str]]:
        return lambda: [*original(), "meta"]

    for path in ("torch.utils._foreach_utils", "torch.optim.optimizer"):
        module = import_module(path)  # `torch.optim` hides its submodule of that name
        if name in vars(module):
            stack.enter_context(replace_attribute(module, name, add_meta))


# -- attention -------------------------------------------------------------------------


def choose_cpu_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    grouped: bool,
) -> str:
    """Return "flash" or "math", as `sdp_utils_cpp.cpp` decides on the CPU."""
    tensors = (query, key, value)
    fits = (
        torch.backends.cuda.flash_sdp_enabled()
        and dropout == 0.0
        and query.dtype in _FLOATS
        and all(t.dim() == 4 and t.stride(-1) == 1 for t in tensors)
        and query.shape[0] == key.shape[0] == value.shape[0]
        and query.shape[-1] == key.shape[-1] == value.shape[-1]
        and query.shape[2] and key.shape[2]
        and _has_fitting_heads(query, key, value, grouped)
        and (mask is None or (not mask.requires_grad and mask.dim() in (2, 4)))
    )  # fmt: skip
    return "flash" if fits else "math"


def choose_gpu_attention(
    capability: tuple[int, int],
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    grouped: bool,
) -> str:
    """Return "cudnn", "flash", "efficient" or "math", as `sdp_utils.cpp` decides.

    cuDNN comes first on compute capability 9 and 10; flash takes no mask; bfloat16
    needs 8.0. What depends on a version of cuDNN or on alignment in memory is not
    looked at.
    """
    width = query.shape[-1]
    is_half = query.dtype in _HALF
    is_dense = query.dim() == key.dim() == value.dim() == 4
    is_even = width == value.shape[-1]
    fitting = is_dense and _has_fitting_heads(query, key, value, grouped)
    needs_gradient = _is_gradient_needed(query, key, value)
    cuda = torch.backends.cuda
    if (
        cuda.cudnn_sdp_enabled()
        and capability[0] in (9, 10)
        and fitting and is_half and is_even
        and width % 8 == 0 and width <= (128 if needs_gradient else 256)
        and not (mask is not None and mask.requires_grad)
    ):  # fmt: skip
        return "cudnn"
    wide = capability in ((8, 6), (8, 9)) and width > 192 and dropout > 0
    if (
        cuda.flash_sdp_enabled()
        and capability >= (8, 0)
        and fitting and is_half and is_even and mask is None
        and width <= 256 and not (wide and needs_gradient)
    ):  # fmt: skip
        return "flash"
    aligned = 8 if is_half else 4
    if (
        cuda.mem_efficient_sdp_enabled()
        and is_dense and query.shape[1] == key.shape[1] == value.shape[1]
        and query.dtype != torch.float64
        and (query.dtype != torch.bfloat16 or capability >= (8, 0))
        and width % aligned == 0 and value.shape[-1] % aligned == 0
    ):  # fmt: skip
        return "efficient"
    return "math"


def _has_fitting_heads(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, grouped: bool
) -> bool:
    """Return whether the heads of key and value are the query's, or divide them."""
    heads = query.shape[1]
    if key.shape[1] != value.shape[1]:
        return False
    return heads == key.shape[1] or (grouped and heads % key.shape[1] == 0)


def _is_gradient_needed(*tensors: torch.Tensor) -> bool:
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def _compute_cpu_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    kernel = choose_cpu_attention(query, key, value, attn_mask, dropout_p, enable_gqa)
    if kernel == "math":
        return _compute_by_products(
            query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
        )
    output: torch.Tensor = _ATEN._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout_p, is_causal,
        attn_mask=_convert_mask(attn_mask, query), scale=scale,
    )[0]  # fmt: skip
    return output


def _compute_scores(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return attention as products, with its matrix of scores."""
    return _compute_by_products(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
    )


def _build_gpu_attention(capability: tuple[int, int]) -> Callable[..., torch.Tensor]:
    """Return `scaled_dot_product_attention` as a GPU of this capability runs it."""

    def attend(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        kernel = choose_gpu_attention(
            capability, query, key, value, attn_mask, dropout_p, enable_gqa
        )
        if kernel == "math":
            return _compute_by_products(
                query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
            )
        output: torch.Tensor
        if kernel == "flash":
            width = query.shape[-1]
            missing = -width % 8
            if missing:  # the kernel takes multiples of 8
                query, key, value = (
                    F.pad(t, (0, missing)) for t in (query, key, value)
                )
                scale = width**-0.5 if scale is None else scale
            output = _ATEN._scaled_dot_product_flash_attention(
                query, key, value, dropout_p, is_causal, False, scale=scale
            )[0]
            return output[..., :width] if missing else output
        bias = _expand_mask(_convert_mask(attn_mask, query), query, key)
        needed = _is_gradient_needed(query, key, value)
        if kernel == "efficient":
            output = _ATEN._scaled_dot_product_efficient_attention(
                query, key, value, bias, needed, dropout_p, is_causal, scale=scale
            )[0]
            return output
        output = _ATEN._scaled_dot_product_cudnn_attention(
            query, key, value, bias, needed, dropout_p, is_causal, False, scale=scale
        )[0]
        return output

    return attend


def _compute_by_products(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
    grouped: bool,
) -> torch.Tensor:
    """Return torch's own decomposition, which holds the matrix of scores."""
    output: torch.Tensor = _ATEN._scaled_dot_product_attention_math(
        query, key, value, _convert_mask(mask, query), dropout, is_causal, None,
        scale=scale, enable_gqa=grouped,
    )[0]  # fmt: skip
    return output


def _convert_mask(
    mask: torch.Tensor | None, query: torch.Tensor
) -> torch.Tensor | None:
    """Return a mask of booleans as one that is added: 0 and minus infinity."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    zero = torch.zeros((), dtype=query.dtype, device=query.device)
    return torch.where(mask, zero, float("-inf"))


def _expand_mask(
    mask: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor
) -> torch.Tensor | None:
    """Return a mask in rows of a multiple of 8, as wide as the scores."""
    if mask is None:
        return None
    columns = key.shape[2]
    if columns % 8 and mask.shape[-1] == columns:
        mask = F.pad(mask, (0, -columns % 8))[..., :columns]
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], columns)


# -- dropout and RMS norm on a GPU -----------------------------------------------------


def _compute_mish_gradient(gradient: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """Return the gradient of one kernel: `meta` has none, and multiplies it out."""
    return torch.empty_like(input)


def _compute_linear(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Add the bias in place, as torch does except under a mode that watches it.

    `linear` in ATen/native/Linear.cpp: where the input cannot be flattened, the bias is
    added to the product, in place unless an operand is `isTensorSubclassLike`, which
    every tensor is under a dispatch mode.
    """
    output: torch.Tensor
    if bias is None or input.dim() < 3 or input.is_contiguous():
        output = _ATEN.linear.default.decompose(input, weight, bias)
        return output
    output = torch.matmul(input, weight.t())
    return output.add_(bias)


def _drop_fused(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """Drop as a GPU does: the output, and a mask of booleans for backward."""
    output: torch.Tensor
    if train and 0 < p < 1 and input.numel():
        output = _ATEN.native_dropout(input, p, True)[0]
    else:
        output = input
        if train and p == 1:
            output = _ATEN.dropout.default.decompose(input, p, train)
    return output


def _normalize_fused(
    input: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    """Normalize as a GPU does: the output, and a number for each row."""
    output: torch.Tensor = _ATEN._fused_rms_norm(input, normalized_shape, weight, eps)[
        0
    ]
    return output


def _describe_fused_norm(
    input: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what `_fused_rms_norm` allocates."""
    count = len(normalized_shape)
    rows = [*input.shape[: input.dim() - count], *([1] * count)]
    dtype = torch.float32 if input.dtype in _HALF else input.dtype
    return torch.empty_like(input), torch.empty(rows, dtype=dtype, device=input.device)
