"""Norms, layers, losses and optimizers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins import (
    apex,
    bitsandbytes,
    deepspeed,
    flash_attn,
    liger_kernel,
    torchao,
    transformer_engine,
    vllm,
)
from tests.rehearsing.kernels import Row

X = torch.randn(8, 16)
LOGITS, LABELS = torch.randn(6, 5), torch.tensor([0, 4, -100, 2, 1, 3])
CONFIG = SimpleNamespace(hidden_size=16, intermediate_size=24, hidden_act="silu")
GELU = SimpleNamespace(hidden_size=16, intermediate_size=24, hidden_act="gelu")
ROOT = X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def steps(optimizer: Any, *args: Any, **options: Any) -> Tensor:
    """A parameter after three steps along a slope."""
    parameter = nn.Parameter(torch.linspace(-1, 1, 12).view(3, 4))
    made = optimizer([parameter], *args, **options)
    for step in range(3):
        parameter.grad = torch.cos(torch.arange(12.0) + step).view(3, 4)
        made.step()
        made.zero_grad()
    return parameter.detach()


def lion() -> Tensor:
    """Lion of https://arxiv.org/abs/2302.06675, algorithm 2."""
    w, m = torch.linspace(-1, 1, 12).view(3, 4), torch.zeros(3, 4)
    for step in range(3):
        g = torch.cos(torch.arange(12.0) + step).view(3, 4)
        w = w - 1e-2 * (0.9 * m + 0.1 * g).sign()
        m = 0.99 * m + 0.01 * g
    return w


def lamb() -> Tensor:
    """LAMB of https://arxiv.org/abs/1904.00962, algorithm 2, with bias correction."""
    w = torch.linspace(-1, 1, 12).view(3, 4)
    m, v = torch.zeros(3, 4), torch.zeros(3, 4)
    for step in range(3):
        g = torch.cos(torch.arange(12.0) + step).view(3, 4)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        r = m / (1 - 0.9 ** (step + 1)) / (
            (v / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
        )  # fmt: skip
        w = w - 1e-2 * w.norm() / r.norm() * r
    return w


def adam() -> Tensor:
    return steps(torch.optim.Adam, lr=1e-2)


def adamw(decay: float = 1e-2) -> Tensor:
    return steps(torch.optim.AdamW, lr=1e-2, weight_decay=decay)


def quantized() -> Tensor:
    model = nn.Sequential(nn.Linear(16, 4))
    torchao.quantize_(model, torchao.Int8WeightOnlyConfig())
    assert not model[0].weight.requires_grad
    return model(X)


def written(function: Any, *args: Any) -> Tensor:
    """What a function has written into its first argument."""
    assert function(*args) is None
    return args[0]


def turned() -> Tensor:
    q, k = torch.ones(1, 2, 3, 4), torch.ones(1, 1, 3, 4)
    cos, sin = torch.full((1, 3, 4), 2.0), torch.full((1, 3, 4), 1.0)
    out, other = liger_kernel.liger_rotary_pos_emb(q, k, cos, sin)
    assert other.shape == k.shape
    return out


def engine(kind: str, *args: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return getattr(transformer_engine, kind)(*args, **options)


def in_8_bits(rows: int) -> Any:
    with transformer_engine.fp8_autocast(enabled=True):
        return engine("Linear", 16, 32)(X[:rows])


def cross_entropy(**options: Any) -> Tensor:
    return F.cross_entropy(LOGITS, LABELS, **options)


def refuse(call: Any, error: type[Exception], words: str = "") -> Any:
    return call, error, words


SAME = (8, 16)
ROWS = {
    "flash_attn.CrossEntropyLoss": Row(
        lambda: flash_attn.CrossEntropyLoss(label_smoothing=0.1)(LOGITS, LABELS), (),
        lambda: cross_entropy(label_smoothing=0.1),
        refuse(lambda: flash_attn.CrossEntropyLoss(reduction="max"),
               NotImplementedError, "reduction"),
    ),
    "apex.FusedLayerNorm": Row(
        lambda: apex.FusedLayerNorm(16)(X), SAME, lambda: F.layer_norm(X, [16]),
        refuse(lambda: apex.FusedLayerNorm(15)(X), RuntimeError, "normalized_shape"),
    ),
    "apex.FusedRMSNorm": Row(
        lambda: apex.FusedRMSNorm(16, eps=1e-6)(X), SAME, lambda: ROOT,
        refuse(lambda: apex.FusedRMSNorm(15)(X), RuntimeError, "normalized_shape"),
    ),
    "apex.MixedFusedLayerNorm": Row(
        lambda: apex.MixedFusedLayerNorm(16)(X.half()), SAME,
        lambda: F.layer_norm(X.half().float(), [16]),
        refuse(lambda: apex.MixedFusedLayerNorm(16, elementwise_affine=False),
               RuntimeError, "elementwise_affine"),
    ),
    "apex.MixedFusedRMSNorm": Row(
        lambda: apex.MixedFusedRMSNorm(16).half()(X), SAME, None,
        refuse(lambda: apex.MixedFusedRMSNorm(16, elementwise_affine=False),
               RuntimeError, "elementwise_affine"), torch.float16,
    ),
    "apex.fused_layer_norm": Row(
        lambda: apex.fused_layer_norm(X, (16,)), SAME,
        lambda: F.layer_norm(X, [16], eps=1e-6),
    ),
    "apex.fused_layer_norm_affine": Row(
        lambda: apex.fused_layer_norm_affine(X, X[0], X[1], 16), SAME,
        lambda: F.layer_norm(X, [16], X[0], X[1], 1e-6),
    ),
    "apex.fused_rms_norm": Row(lambda: apex.fused_rms_norm(X, 16), SAME, lambda: ROOT),
    "apex.fused_rms_norm_affine": Row(
        lambda: apex.fused_rms_norm_affine(X, X[0], 16), SAME, lambda: ROOT * X[0]
    ),
    "apex.FusedAdam": Row(
        lambda: steps(apex.FusedAdam, lr=1e-2, weight_decay=0.1), (3, 4),
        lambda: adamw(0.1),
        refuse(lambda: steps(apex.FusedAdam, amsgrad=True), RuntimeError, "AMSGrad"),
    ),
    "apex.FusedLAMB": Row(
        lambda: steps(apex.FusedLAMB, lr=1e-2, weight_decay=0.0, eps=1e-8), (3, 4),
        lamb,
        refuse(lambda: steps(apex.FusedLAMB, amsgrad=True), RuntimeError, "AMSGrad"),
    ),
    "apex.FusedSGD": Row(
        lambda: steps(apex.FusedSGD, lr=0.1, momentum=0.9), (3, 4),
        lambda: steps(torch.optim.SGD, lr=0.1, momentum=0.9),
        refuse(lambda: steps(apex.FusedSGD, lr=0.1, nesterov=True), ValueError,
               "Nesterov"),
    ),
    "apex.FusedAdagrad": Row(
        lambda: steps(apex.FusedAdagrad), (3, 4), lambda: steps(torch.optim.Adagrad)
    ),
    "deepspeed.DeepSpeedCPUAdam": Row(
        lambda: steps(deepspeed.DeepSpeedCPUAdam, lr=1e-2), (3, 4), lambda: adamw(0.0)
    ),
    "deepspeed.FusedAdam": Row(
        lambda: steps(deepspeed.FusedAdam, lr=1e-2, adam_w_mode=False), (3, 4), adam,
        refuse(lambda: steps(deepspeed.FusedAdam, amsgrad=True), RuntimeError,
               "AMSGrad"),
    ),
    "deepspeed.FusedLamb": Row(
        lambda: steps(deepspeed.FusedLamb, lr=1e-2), (3, 4), lamb,
        refuse(lambda: steps(deepspeed.FusedLamb, amsgrad=True), RuntimeError,
               "AMSGrad"),
    ),
    "deepspeed.FusedLion": Row(
        lambda: steps(deepspeed.FusedLion, lr=1e-2, betas=(0.9, 0.99)), (3, 4), lion
    ),
    "deepspeed.DeepSpeedCPULion": Row(
        lambda: steps(deepspeed.DeepSpeedCPULion, lr=1e-2, betas=(0.9, 0.99)), (3, 4),
        lion,
    ),
    "deepspeed.DeepSpeedCPUAdagrad": Row(
        lambda: steps(deepspeed.DeepSpeedCPUAdagrad), (3, 4),
        lambda: steps(torch.optim.Adagrad),
    ),
    "bitsandbytes.Adam": Row(
        lambda: steps(bitsandbytes.Adam, lr=1e-2), (3, 4), adam,
        refuse(lambda: steps(bitsandbytes.Adam, lr=-1.0), ValueError, "learning rate"),
    ),
    "bitsandbytes.Adam8bit": Row(
        lambda: steps(bitsandbytes.Adam8bit, lr=1e-2), (3, 4), adam,
        refuse(lambda: steps(bitsandbytes.Adam8bit, amsgrad=True), ValueError,
               "amsgrad"),
    ),
    "bitsandbytes.AdamW": Row(
        lambda: steps(bitsandbytes.AdamW, lr=1e-2), (3, 4), adamw
    ),
    "bitsandbytes.AdamW8bit": Row(
        lambda: steps(bitsandbytes.AdamW8bit, lr=1e-2), (3, 4), adamw,
        refuse(lambda: steps(bitsandbytes.AdamW8bit, optim_bits=8), ValueError,
               "optim_bits"),
    ),
    "bitsandbytes.Lion": Row(
        lambda: steps(bitsandbytes.Lion, lr=1e-2), (3, 4), lion,
        refuse(lambda: steps(bitsandbytes.Lion, betas=(1.0, 0.9)), ValueError, "beta"),
    ),
    "bitsandbytes.Lion8bit": Row(
        lambda: steps(bitsandbytes.Lion8bit, lr=1e-2), (3, 4), lion
    ),
    "bitsandbytes.SGD8bit": Row(
        lambda: steps(bitsandbytes.SGD8bit, lr=0.1, momentum=0.9), (3, 4),
        lambda: steps(torch.optim.SGD, lr=0.1, momentum=0.9),
        refuse(lambda: steps(bitsandbytes.SGD8bit, lr=0.1), NotImplementedError,
               "momentum"),
    ),
    "bitsandbytes.Linear8bitLt": Row(
        lambda: bitsandbytes.Linear8bitLt(16, 4)(X), (8, 4), None,
        refuse(lambda: bitsandbytes.Linear8bitLt(15, 4)(X), RuntimeError, "mat1"),
    ),
    "bitsandbytes.Linear4bit": Row(
        lambda: bitsandbytes.Linear4bit(16, 4, compute_dtype=torch.bfloat16)(X.half()),
        (8, 4), None, None, torch.float16,
    ),
    "bitsandbytes.LinearNF4": Row(lambda: bitsandbytes.LinearNF4(16, 4)(X), (8, 4)),
    "bitsandbytes.StableEmbedding": Row(
        lambda: bitsandbytes.StableEmbedding(7, 4)(torch.tensor([[1, 2, 6]])), (1, 3, 4)
    ),
    "torchao.Adam8bit": Row(lambda: steps(torchao.Adam8bit, lr=1e-2), (3, 4), adam),
    "torchao.AdamW8bit": Row(
        lambda: steps(torchao.AdamW8bit, lr=1e-2), (3, 4), adamw,
        refuse(lambda: steps(torchao.AdamW8bit, eps=-1.0), ValueError, "epsilon"),
    ),
    "torchao.quantize_": Row(
        quantized, (8, 4), None,
        refuse(lambda: torchao.quantize_(nn.Linear(2, 2), "int8"), AssertionError),
    ),
    "torchao.convert_to_float8_training": Row(
        lambda: torchao.convert_to_float8_training(nn.Linear(16, 32))(X), (8, 32)
    ),
    "liger_kernel.LigerRMSNorm": Row(
        lambda: liger_kernel.LigerRMSNorm(16)(X), SAME, lambda: ROOT,
        refuse(lambda: liger_kernel.LigerRMSNorm(16, init_fn="two"), AssertionError,
               "init_fn"),
    ),
    "liger_kernel.LigerRMSNormForGemma": Row(
        lambda: liger_kernel.LigerRMSNormForGemma(16)(X), SAME, lambda: ROOT
    ),
    "liger_kernel.liger_rms_norm": Row(
        lambda: liger_kernel.liger_rms_norm(X, X[0], 1e-6, 1.0), SAME,
        lambda: ROOT * (1 + X[0]),
        refuse(lambda: liger_kernel.liger_rms_norm(X, X[0, :9], 1e-6), AssertionError,
               "Incompatible hidden size"),
    ),
    "liger_kernel.LigerLayerNorm": Row(
        lambda: liger_kernel.LigerLayerNorm(16)(X), SAME,
        lambda: F.layer_norm(X, [16], eps=1e-6),
        refuse(lambda: liger_kernel.LigerLayerNorm(12)(X), ValueError, "must match"),
    ),
    "liger_kernel.liger_layer_norm": Row(
        lambda: liger_kernel.liger_layer_norm(X, X[0], X[1], 1e-5), SAME,
        lambda: F.layer_norm(X, [16], X[0], X[1], 1e-5),
    ),
    "liger_kernel.LigerGroupNorm": Row(
        lambda: liger_kernel.LigerGroupNorm(16, 4)(X[..., None]), (8, 16, 1),
        lambda: F.group_norm(X[..., None], 4, eps=1e-6),
        refuse(lambda: liger_kernel.LigerGroupNorm(16, 5), AssertionError, "divisible"),
    ),
    "liger_kernel.liger_swiglu": Row(
        lambda: liger_kernel.liger_swiglu(X, X), SAME, lambda: X.sigmoid() * X * X
    ),
    "liger_kernel.liger_geglu": Row(
        lambda: liger_kernel.liger_geglu(X, X), SAME,
        lambda: F.gelu(X, approximate="tanh") * X,
    ),
    "liger_kernel.LigerSwiGLUMLP": Row(
        lambda: liger_kernel.LigerSwiGLUMLP(CONFIG)(X), SAME, None,
        refuse(lambda: liger_kernel.LigerSwiGLUMLP(GELU), ValueError, "not supported"),
    ),
    "liger_kernel.LigerGEGLUMLP": Row(
        lambda: liger_kernel.LigerGEGLUMLP(GELU)(X), SAME
    ),
    "liger_kernel.LigerCrossEntropyLoss": Row(
        lambda: liger_kernel.LigerCrossEntropyLoss(reduction="sum")(LOGITS, LABELS), (),
        lambda: cross_entropy(reduction="sum"),
        refuse(lambda: liger_kernel.LigerCrossEntropyLoss(label_smoothing=2.0),
               AssertionError, "label_smoothing"),
    ),
    "liger_kernel.LigerFusedLinearCrossEntropyLoss": Row(
        lambda: liger_kernel.LigerFusedLinearCrossEntropyLoss()(
            torch.eye(5), LOGITS, LABELS
        ), (), cross_entropy,
        refuse(lambda: liger_kernel.LigerFusedLinearCrossEntropyLoss(softcap=-1.0),
               AssertionError, "softcap"),
    ),
    "liger_kernel.LigerKLDIVLoss": Row(
        lambda: liger_kernel.LigerKLDIVLoss(reduction="batchmean")(
            LOGITS.log_softmax(-1), LOGITS.softmax(-1)
        ), (), lambda: torch.tensor(0.0),
    ),
    "liger_kernel.LigerJSD": Row(
        lambda: liger_kernel.LigerJSD()(LOGITS.log_softmax(-1), LOGITS.log_softmax(-1)),
        (), lambda: torch.tensor(0.0),
    ),
    "liger_kernel.liger_rotary_pos_emb": Row(
        turned, (1, 2, 3, 4),
        lambda: torch.tensor([1.0, 1.0, 3.0, 3.0]).expand(1, 2, 3, 4),
    ),
    "transformer_engine.Linear": Row(
        lambda: in_8_bits(8), (8, 32), None,
        refuse(lambda: in_8_bits(7), ValueError, "divisible by 8"),
    ),
    "transformer_engine.LayerNorm": Row(
        lambda: engine("LayerNorm", 16)(X), SAME, lambda: F.layer_norm(X, [16]),
        refuse(lambda: engine("LayerNorm", 15)(X), ValueError, "not compatible"),
    ),
    "transformer_engine.RMSNorm": Row(
        lambda: engine("RMSNorm", 16, eps=1e-6, zero_centered_gamma=True)(X), SAME,
        lambda: ROOT,
        refuse(lambda: engine("RMSNorm"), ValueError, "normalized_shape"),
    ),
    "transformer_engine.LayerNormLinear": Row(
        lambda: engine("LayerNormLinear", 16, 4)(X), (8, 4), None,
        refuse(lambda: engine("LayerNormLinear", 12, 4)(X), AssertionError, "GEMM"),
    ),
    "transformer_engine.LayerNormMLP": Row(
        lambda: engine("LayerNormMLP", 16, 24, activation="swiglu")(X), SAME, None,
        refuse(lambda: engine("LayerNormMLP", 16, 24, activation="mish"),
               NotImplementedError, "not supported"),
    ),
    "vllm.rms_norm": Row(
        lambda: written(vllm.rms_norm, torch.zeros(8, 16), X, X[0], 1e-6), SAME,
        lambda: ROOT * X[0],
    ),
    "vllm.fused_add_rms_norm": Row(
        lambda: written(vllm.fused_add_rms_norm, X / 2, X / 2, torch.ones(16), 1e-6),
        SAME, lambda: ROOT,
    ),
    "vllm.rotary_embedding": Row(
        lambda: written(lambda q: vllm.rotary_embedding(
            torch.tensor([0, 1]), q, None, 4, torch.tensor([[2.0, 2, 1, 1]] * 3), True
        ), torch.ones(2, 8)), (2, 8),
        lambda: torch.tensor([1.0, 1, 3, 3] * 2).expand(2, 8),
    ),
    "vllm.reshape_and_cache_flash": Row(
        lambda: written(lambda cache: vllm.reshape_and_cache_flash(
            torch.ones(2, 2, 3), torch.ones(2, 2, 3), cache, torch.zeros(2, 4, 2, 3),
            torch.tensor([0, 5]), "auto", 1.0, 1.0,
        ), torch.zeros(2, 4, 2, 3))[:, :2].flatten(0, 1)[..., 0, 0], (4,),
        lambda: torch.tensor([1.0, 0, 0, 1]),
    ),
}  # fmt: skip
