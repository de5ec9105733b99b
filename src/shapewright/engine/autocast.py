"""The casts that autocast applies to the operands of a call, by torch's cast lists.

Autocast does not act on meta tensors, so this module applies the lists of the claimed
device. They come from torch's `autocast_mode.cpp`; a test compares them with torch's
dispatcher.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sys import _getframe
from typing import Any

import torch

from shapewright.engine import nests
from shapewright.engine.identity import Info, Meta
from shapewright.engine.private import casts
from shapewright.engine.replacement import resemble

_PRODUCTS = """
    _convolution addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d conv_transpose3d linalg_vecdot linear matmul mm prelu
    scaled_dot_product_attention
"""
_LOSSES = """
    binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss
    huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss
    multilabel_margin_loss nll_loss nll_loss2d poisson_nll_loss smooth_l1_loss
    soft_margin_loss triplet_margin_loss
"""
LOWER = {
    "cpu": frozenset(
        f"""{_PRODUCTS} _addmm_activation _native_multi_head_attention
        mkldnn_rnn_layer""".split()
    ),
    "cuda": frozenset(
        f"""{_PRODUCTS} _scaled_dot_product_flash_attention _thnn_fused_gru_cell
        _thnn_fused_lstm_cell addmv addr chain_matmul convolution cudnn_convolution
        cudnn_convolution_transpose einsum gru_cell linalg_multi_dot lstm_cell mv
        rnn_relu_cell rnn_tanh_cell""".split()
    ),
}
"""Ops that run in the autocast dtype."""

FULL = {
    "cpu": frozenset(
        f"""{_LOSSES} _grid_sampler_2d_cpu_fallback _lu_with_info adaptive_avg_pool3d
        adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky
        cholesky_inverse cholesky_solve cross_entropy_loss ctc_loss
        fake_quantize_per_tensor_affine fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft
        fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
        fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler
        grid_sampler_2d grid_sampler_3d inverse linalg_cholesky linalg_cholesky_ex
        linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
        linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
        linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals
        linalg_tensorinv linalg_tensorsolve lu_solve max_pool3d max_unpool2d
        max_unpool3d multilabel_margin_loss_forward nanquantile orgqr ormqr pinverse
        polar prod qr quantile reflection_pad1d reflection_pad2d replication_pad1d
        replication_pad2d replication_pad3d stft svd trace triangular_solve
        view_as_complex""".split()
    ),
    "cuda": frozenset(
        f"""{_LOSSES} _upsample_bicubic2d_aa _upsample_bilinear2d_aa
        _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
        acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1
        frobenius_norm group_norm layer_norm linalg_matrix_norm linalg_vector_norm log
        log10 log1p log2 log_softmax logsumexp native_layer_norm norm nuclear_norm pdist
        pow prod reciprocal renorm rms_norm rsqrt sinh softmax softplus sum tan
        upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
        upsample_nearest2d upsample_nearest3d upsample_trilinear3d""".split()
    ),
}
"""Ops that run in float32."""

WIDEST = {
    "cpu": frozenset("cat index_copy stack".split()),
    "cuda": frozenset(
        """addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add
        tensordot vdot""".split()
    ),
}
"""Ops that run in the widest dtype of their operands."""

REFUSED = {"cpu": frozenset[str](), "cuda": frozenset({"binary_cross_entropy"})}
UNSAFE = """\
torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.
Many models use a sigmoid layer right before the binary cross entropy layer.
In this case, combine the two layers using torch.nn.functional.\
binary_cross_entropy_with_logits
or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are
safe to autocast."""

CALLED = {
    "__matmul__": "matmul", "__rmatmul__": "matmul", "linalg_matmul": "matmul",
    "multi_dot": "linalg_multi_dot", "__pow__": "pow", "__rpow__": "pow",
    "__rdiv__": "reciprocal", "__rtruediv__": "reciprocal", "concat": "cat",
    "concatenate": "cat", "grid_sample": "grid_sampler", "cross_entropy": "nll_loss",
    "linalg_cross": "cross", "_softmax": "softmax", "_log_softmax": "log_softmax",
    "native_group_norm": "group_norm", "nll_loss_forward": "nll_loss",
    "nll_loss2d_forward": "nll_loss2d", "convolution": "_convolution",
    "max_pool3d_with_indices": "max_pool3d", "_cdist_forward": "cdist",
    "linalg_inv_ex": "linalg_inv", "norm_except_dim": "norm", "inner": "tensordot",
    "lstm": "mkldnn_rnn_layer", "_adaptive_avg_pool3d": "adaptive_avg_pool3d",
    "affine_grid": "bmm", "_transformer_encoder_layer_fwd": "addmm",
}  # fmt: skip
"""Maps Python and kernel names to the names used in the lists."""

OPEN = frozenset("""
    bilinear corrcoef cosine_similarity cov einsum gru gru_cell
    gumbel_softmax inner interpolate kron linalg_matrix_exp linalg_multi_dot
    linalg_norm local_response_norm logdet lstm_cell matrix_exp multi_dot
    multi_head_attention_forward multilabel_soft_margin_loss normalize pad
    pairwise_distance rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell tensordot
    triplet_margin_with_distance_loss upsample
""".split())  # fmt: skip
"""Composite ops that contain autocast ops: torch answers them, not a rule."""

CUDNN = frozenset("lstm gru rnn_tanh rnn_relu".split())
"""Ops that run in cuDNN on a GPU, and there in the autocast dtype."""

DTYPE_GIVEN = frozenset("prod softmax log_softmax cumprod cumsum sum norm".split())
"""Ops whose explicit `dtype` argument overrides autocast."""


def state() -> Any:
    """Return the device types with autocast enabled, each with its autocast dtype."""
    return tuple(
        (kind, torch.get_autocast_dtype(kind))
        for kind in ("cpu", "cuda")
        if torch.is_autocast_enabled(kind)
    )


def kind_of(metas: list[Meta]) -> str | None:
    """Return the device type whose autocast applies to these operands, or None."""
    kinds = {meta.device.partition(":")[0] for meta in metas} - {"meta"}
    kind = "cuda" if "cuda" in kinds else "cpu"
    return kind if torch.is_autocast_enabled(kind) else None


def listed(name: str, kind: str) -> bool:
    """Return whether an autocast list has a function of this name."""
    called = CALLED.get(name, name)
    if kind == "cuda" and name in CUDNN:
        return True
    lists = (LOWER, FULL, WIDEST, REFUSED)
    return any(called in x[kind] for x in lists) and casts(called, kind)


def _target_dtype(
    name: str, kind: str, dtypes: list[torch.dtype]
) -> torch.dtype | None:
    """Return the dtype to which float operands are cast; None means no cast."""
    called = CALLED.get(name, name)
    if kind == "cuda" and name in CUDNN:
        return torch.get_autocast_dtype(kind)
    if not casts(called, kind):  # a list grew after this torch
        return None
    if called in LOWER[kind]:
        return torch.get_autocast_dtype(kind)
    if called in FULL[kind]:
        return torch.float32
    floats = {dtype for dtype in dtypes if dtype.is_floating_point}
    if called in WIDEST[kind] and len(floats) > 1 and torch.float32 in floats:
        return torch.float32
    return None


def eligible(dtype: torch.dtype) -> bool:
    """Return whether autocast may cast this dtype: any float but float64."""
    return dtype.is_floating_point and dtype != torch.float64


def refuse(name: str, metas: list[Meta]) -> BaseException | None:
    """Return the error of a call that autocast forbids, else None."""
    kind = kind_of(metas)
    return RuntimeError(UNSAFE) if kind and name in REFUSED[kind] else None


def cast(name: str, arguments: Any, infos: list[Info]) -> Any:
    """Return a rule's arguments after autocast; None if no rule may answer."""
    kind = kind_of([info.meta for info in infos])
    if kind is None or _ruled_out(name, arguments[1], kind):
        return None if kind else arguments
    dtype = _target_dtype(name, kind, [info.meta.torch_dtype for info in infos])
    if dtype is None or (name in DTYPE_GIVEN and arguments[1].get("dtype")):
        return arguments

    def change(value: Any) -> Any:
        if isinstance(value, Meta) and eligible(value.torch_dtype):
            return Meta(
                value.shape, value.stride, dtype, value.offset, value.device,
                value.requires_grad, value.layout,
            )  # fmt: skip
        if isinstance(value, tuple | list):
            return type(value)(change(item) for item in value)
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items()}
        return value

    return change(arguments)


def _ruled_out(name: str, kwargs: dict[str, Any], kind: str) -> bool:
    """Return whether the casts depend on the calls inside a composite op."""
    return name in OPEN and not listed(name, kind)


def cast_tensors(name: str, physical: Any, infos: list[Info]) -> tuple[Any, str | None]:
    """Return the operands on which torch is about to run, after autocast.

    The second item is the device type whose lists apply to the kernels of a call that
    is in no list itself, else None.
    """
    kind = kind_of([info.meta for info in infos])
    if kind is None:
        return physical, None
    if not listed(name, kind):
        return physical, kind
    if name in DTYPE_GIVEN and physical[1].get("dtype") is not None:
        return physical, None
    return below(name, kind, physical), None


def below(name: str, kind: str, physical: Any) -> Any:
    """Return the operands of a kernel or call after autocast."""
    dtypes = [tensor.dtype for tensor in nests.tensors(physical)]
    dtype = _target_dtype(name, kind, dtypes)
    if dtype is None:
        return physical
    return nests.swap(
        physical, lambda t: t.to(dtype) if eligible(t.dtype) and t.dtype != dtype else t
    )


# -- CUDA autocast on a machine without CUDA -------------------------------------------


@contextmanager
def claimed() -> Iterator[None]:
    """Let `torch.autocast("cuda")` take effect for tensors that claim to be on CUDA."""
    common: Any = torch.cuda.amp.common
    known, supported = common.amp_definitely_not_available, torch.cuda.is_bf16_supported

    def is_bf16_supported(*args: Any, **kwargs: Any) -> bool:
        caller = Path(_getframe(1).f_code.co_filename).name
        return caller == "autocast_mode.py" or supported(*args, **kwargs)

    common.amp_definitely_not_available = resemble(lambda: False, known)
    torch.cuda.is_bf16_supported = resemble(is_bf16_supported, supported)
    try:
        yield
    finally:
        common.amp_definitely_not_available = known
        torch.cuda.is_bf16_supported = supported
