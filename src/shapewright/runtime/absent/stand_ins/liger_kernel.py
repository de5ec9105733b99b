"""liger_kernel: norms, gated layers, losses and rotations of language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SOURCE = "signatures of https://github.com/linkedin/Liger-Kernel, 0.6"
VERSION = "0.6.4"
CASTINGS = ("llama", "gemma", "none")


class LigerRMSNorm(nn.Module):
    """(..., hidden_size): the same shape, times ``offset + weight``."""

    def __init__(
        self, hidden_size: int, eps: float = 1e-6, offset: float = 0.0,
        casting_mode: str = "llama", init_fn: str = "ones", in_place: bool = True,
        row_mode: Any = None, elementwise_affine: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        _require_start(init_fn)
        self.weight = None
        if elementwise_affine:
            self.weight = nn.Parameter(torch.full((hidden_size,), STARTS[init_fn]))
        self.variance_epsilon, self.offset = eps, offset
        self.casting_mode = casting_mode

    def forward(self, hidden_states: Tensor) -> Tensor:
        return liger_rms_norm(
            hidden_states, self.weight, self.variance_epsilon, self.offset,
            self.casting_mode,
        )  # fmt: skip


STARTS = {"ones": 1.0, "zeros": 0.0}


def _require_start(init_fn: str) -> None:
    assert init_fn in STARTS, f"init_fn must be either 'ones' or 'zeros', got {init_fn}"


def liger_rms_norm(
    X: Tensor, W: Tensor | None, eps: float, offset: float = 0.0,
    casting_mode: str = "llama", in_place: bool = True,
) -> Tensor:  # fmt: skip
    """X (..., H), W (H,): as X."""
    assert casting_mode in CASTINGS, f"Invalid casting mode: {casting_mode}"
    assert W is None or X.shape[-1] == W.shape[0], (
        "Incompatible hidden size dimension between tensor1.shape[1] and "
        "tensor2.shape[0]"
    )
    x = X if casting_mode == "none" else X.float()
    out = x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    out = out.to(X.dtype) if casting_mode == "llama" else out
    out = out if W is None else out * (offset + W.to(out.dtype))
    return out.to(X.dtype)


class LigerRMSNormForGemma(LigerRMSNorm):
    """`LigerRMSNorm` as Gemma has it: times ``1 + weight``."""

    def __init__(
        self, hidden_size: int, eps: float = 1e-6, offset: float = 1.0,
        casting_mode: str = "gemma", init_fn: str = "zeros", in_place: bool = True,
        row_mode: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, eps, offset, casting_mode, init_fn, in_place, row_mode
        )


class LigerLayerNorm(nn.Module):
    """(..., hidden_size): the same shape."""

    def __init__(
        self, hidden_size: int, eps: float = 1e-6, bias: bool = False,
        init_fn: str = "ones",
    ) -> None:  # fmt: skip
        super().__init__()
        _require_start(init_fn)
        self.hidden_size, self.variance_epsilon = hidden_size, eps
        self.weight = nn.Parameter(torch.full((hidden_size,), STARTS[init_fn]))
        start = torch.randn(hidden_size) if bias else torch.zeros(hidden_size)
        self.bias = nn.Parameter(start)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return liger_layer_norm(
            hidden_states, self.weight, self.bias, self.variance_epsilon
        )


def liger_layer_norm(X: Tensor, W: Tensor, B: Tensor, eps: float) -> Tensor:
    """X (..., H), W and B (H,): as X."""
    if X.shape[-1] != W.shape[0]:
        raise ValueError(
            f"Incompatible dimensions: input feature size (X.shape[1]={X.shape[-1]}) "
            f"must match weight size (W.shape[0]={W.shape[0]})"
        )
    return F.layer_norm(X, [X.shape[-1]], W, B, eps)


class LigerGroupNorm(nn.Module):
    """(B, num_channels, ...): the same shape."""

    def __init__(
        self, num_channels: int, num_groups: int, eps: float = 1e-6, bias: bool = False,
        init_fn: str = "ones",
    ) -> None:  # fmt: skip
        super().__init__()
        _require_start(init_fn)
        assert num_channels % num_groups == 0, (
            f"Number of channels {num_channels} must be divisible by num_groups "
            f"{num_groups}"
        )
        self.num_channels, self.num_groups = num_channels, num_groups
        self.variance_epsilon = eps
        self.weight = nn.Parameter(torch.full((num_channels,), STARTS[init_fn]))
        start = torch.randn(num_channels) if bias else torch.zeros(num_channels)
        self.bias = nn.Parameter(start)

    def forward(self, hidden_states: Tensor) -> Tensor:
        assert hidden_states.dim() >= 3, (
            f"Input must have atleast 3 dimensions, got {hidden_states.dim()}"
        )
        assert hidden_states.size(1) == self.num_channels, (
            f"Input tensor must have {self.num_channels} channels, got "
            f"{hidden_states.size(1)}"
        )
        return F.group_norm(
            hidden_states, self.num_groups, self.weight, self.bias,
            self.variance_epsilon,
        )  # fmt: skip


def liger_swiglu(a: Tensor, b: Tensor) -> Tensor:
    """silu(a) * b."""
    return F.silu(a) * b


def liger_geglu(a: Tensor, b: Tensor) -> Tensor:
    """gelu(a) * b, by the approximation with tanh."""
    return F.gelu(a, approximate="tanh") * b


class LigerSwiGLUMLP(nn.Module):
    """(..., hidden_size): the same shape; `config` has `hidden_size`,
    `intermediate_size` and `hidden_act`.
    """

    gate = staticmethod(liger_swiglu)

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.hidden_size = config.hidden_size
        self.intermediate_size = config.intermediate_size
        sizes = self.hidden_size, self.intermediate_size
        self.gate_proj = nn.Linear(*sizes, bias=False)
        self.up_proj = nn.Linear(*sizes, bias=False)
        self.down_proj = nn.Linear(*sizes[::-1], bias=False)
        self._require_activation(config)

    def _require_activation(self, config: Any) -> None:
        if config.hidden_act not in ("silu", "swish"):
            raise ValueError(f"Activation function {config.hidden_act} not supported.")

    def forward(self, x: Tensor) -> Any:
        return self.down_proj(type(self).gate(self.gate_proj(x), self.up_proj(x)))


class LigerGEGLUMLP(LigerSwiGLUMLP):
    """As `LigerSwiGLUMLP`, with gelu."""

    gate = staticmethod(liger_geglu)

    def _require_activation(self, config: Any) -> None:
        pass


@dataclass
class CrossEntropyOutput:
    """What losses return that give more than a loss."""

    loss: Tensor
    z_loss: Tensor | None = None
    token_accuracy: Tensor | None = None
    predicted_tokens: Tensor | None = None


class LigerCrossEntropyLoss(nn.Module):
    """_input (N, V), target (N,): a number, or (N,)."""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100,
        lse_square_scale: float = 0.0, label_smoothing: float = 0.0,
        reduction: str = "mean", softcap: float | None = None,
        return_z_loss: bool = False, return_token_accuracy: bool = False,
        return_predicted_tokens: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        assert 0 <= label_smoothing <= 1, (
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
        )
        assert reduction in {"mean", "sum", "none"}, (
            f"reduction must be one of 'mean', 'sum', or 'none'. Got: {reduction}"
        )
        assert softcap is None or softcap > 0, (
            f"softcap must greater than 0.0 or None. Got: {softcap}"
        )
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, reduction
        self.lse_square_scale, self.label_smoothing = lse_square_scale, label_smoothing
        self.softcap, self.return_z_loss = softcap, return_z_loss
        self.return_token_accuracy = return_token_accuracy
        self.return_predicted_tokens = return_predicted_tokens

    def forward(self, _input: Tensor, target: Tensor) -> Any:
        weight = self.weight
        assert weight is None or weight.shape[0] == _input.shape[-1], (
            f"If given, weight has to be a Tensor of size V. Got: {tuple(weight.shape)}"
        )
        logits = _input.float()
        if self.softcap is not None:
            logits = self.softcap * torch.tanh(logits / self.softcap)
        loss = F.cross_entropy(
            logits, target, weight, ignore_index=self.ignore_index,
            reduction=self.reduction, label_smoothing=self.label_smoothing,
        )  # fmt: skip
        there = target != self.ignore_index
        squares = self.lse_square_scale * logits.logsumexp(-1).square() * there
        if self.reduction != "none":
            squares = squares.sum()
        if self.reduction == "mean":
            squares = squares / there.sum()
        loss = (loss + squares if self.lse_square_scale else loss).to(_input.dtype)
        more = (self.return_token_accuracy, self.return_predicted_tokens)
        if not self.return_z_loss and not any(more):
            return loss
        best = logits.argmax(-1)
        right = (best == target).float()
        return CrossEntropyOutput(
            loss, squares.to(_input.dtype) if self.return_z_loss else None,
            (right if self.reduction == "none" else right.mean()) if more[0] else None,
            best if more[1] else None,
        )  # fmt: skip


class LigerFusedLinearCrossEntropyLoss(nn.Module):
    """lin_weight (V, H), _input (N, H), target (N,): a number, or (N,)."""

    def __init__(
        self, ce_weight: Tensor | None = None, ignore_index: int = -100,
        lse_square_scale: float = 0.0, label_smoothing: float = 0.0,
        reduction: str = "mean", softcap: float | None = None,
        return_z_loss: bool = False, accum_dtype: Any = None,
        use_token_scaling: bool = False, return_token_accuracy: bool = False,
        return_predicted_tokens: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.loss = LigerCrossEntropyLoss(
            ce_weight, ignore_index, lse_square_scale, label_smoothing, reduction,
            softcap, return_z_loss, return_token_accuracy, return_predicted_tokens,
        )  # fmt: skip

    def forward(
        self, lin_weight: Tensor, _input: Tensor, target: Tensor,
        bias: Tensor | None = None,
    ) -> Any:  # fmt: skip
        return self.loss(F.linear(_input, lin_weight, bias), target)


class LigerKLDIVLoss(nn.KLDivLoss):
    """y_pred (N, V), logs of probabilities, y_true (N, V): a number, or (N, V)."""

    def __init__(self, eps: float = 1e-10, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.eps = eps

    def forward(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        return super().forward(y_pred, y_true)


class LigerJSD(nn.Module):
    """log_q (N, V), log_p (N, V): a number, the divergence of Jensen and Shannon."""

    def __init__(self, beta: float = 0.5, ignore_index: int = -100) -> None:
        super().__init__()
        self.beta, self.ignore_index = beta, ignore_index

    def forward(
        self, log_q: Tensor, log_p: Tensor, shift_labels: Tensor | None = None
    ) -> Tensor:
        p, q = log_p.float().exp(), log_q.float().exp()
        if self.beta == 0:
            parts = p * (log_p - log_q)
        elif self.beta == 1:
            parts = q * (log_q - log_p)
        else:
            middle = (self.beta * p + (1 - self.beta) * q).log()
            parts = self.beta * p * (log_p - middle)
            parts = parts + (1 - self.beta) * q * (log_q - middle)
        if shift_labels is None:
            return (parts.sum() / len(log_q)).to(log_q.dtype)
        there = shift_labels != self.ignore_index
        total = (parts * there[:, None]).sum()
        return (total / there.sum().clamp(min=1)).to(log_q.dtype)


def liger_rotary_pos_emb(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, position_ids: Any = None,
    unsqueeze_dim: int = 1,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """q (B, H, T, D), k (B, Hk, T, D), cos and sin (1 or B, T, D): q and k, turned."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)

    def turn(x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return (x * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)

    return turn(q), turn(k)


def _make_patch(name: str, **options: bool) -> Callable[..., None]:
    """Return a function that would put kernels into transformers' models: their
    shapes are those of transformers, and it does nothing.
    """

    def patch(*, model: Any = None, **kwargs: bool) -> None:
        unknown = sorted(kwargs.keys() - options.keys())
        if unknown:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {unknown[0]!r}"
            )
        whole = options | kwargs
        assert not (
            whole.get("cross_entropy") and whole.get("fused_linear_cross_entropy")
        ), "cross_entropy and fused_linear_cross_entropy cannot both be True."

    patch.__name__ = name
    return patch


_COMMON = {
    "rope": True, "cross_entropy": False, "fused_linear_cross_entropy": True,
    "rms_norm": True,
}  # fmt: skip
_SWIGLU = (
    "llama", "mistral", "mixtral", "phi3", "qwen2", "qwen3", "qwen3_moe", "olmo2",
    "glm4", "granite", "smollm3", "gpt_oss", "qwen2_5_vl",
)  # fmt: skip
_PATCHES = {
    f"apply_liger_kernel_to_{model}": _make_patch(
        f"apply_liger_kernel_to_{model}", **_COMMON, **{gate: True}
    )
    for models, gate in (
        (_SWIGLU, "swiglu"), (("gemma", "gemma2", "gemma3_text"), "geglu"),
    )
    for model in models
}  # fmt: skip
_LAYERS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        LigerRMSNorm, LigerRMSNormForGemma, LigerLayerNorm, LigerGroupNorm,
        LigerSwiGLUMLP, LigerGEGLUMLP, LigerCrossEntropyLoss, LigerKLDIVLoss, LigerJSD,
        LigerFusedLinearCrossEntropyLoss, liger_rotary_pos_emb,
    )
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {},
    "transformers": {**_LAYERS, **_PATCHES},
    "transformers.functional": {
        "liger_rms_norm": liger_rms_norm, "liger_layer_norm": liger_layer_norm,
        "liger_swiglu": liger_swiglu, "liger_geglu": liger_geglu,
        "liger_rope": liger_rotary_pos_emb,
    },
    "transformers.rms_norm": {"LigerRMSNorm": LigerRMSNorm},
    "transformers.swiglu": {"LigerSwiGLUMLP": LigerSwiGLUMLP},
    "transformers.geglu": {"LigerGEGLUMLP": LigerGEGLUMLP},
    "transformers.rope": {"liger_rotary_pos_emb": liger_rotary_pos_emb},
    "transformers.cross_entropy": {"LigerCrossEntropyLoss": LigerCrossEntropyLoss},
    "transformers.fused_linear_cross_entropy": {
        "LigerFusedLinearCrossEntropyLoss": LigerFusedLinearCrossEntropyLoss,
    },
}  # fmt: skip
