"""Calls and layers whose dtypes autocast decides, as small programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

H = torch.bfloat16


def rows() -> Tensor:
    return torch.randn(4, 6)


def halves() -> Tensor:
    return torch.randn(4, 6, dtype=H)


def square() -> Tensor:
    return 9 * torch.eye(5) + torch.ones(5, 5)


def images() -> Tensor:
    return torch.randn(2, 3, 8, 8)


def spread() -> Tensor:
    return torch.rand(4, 6) + 0.5


def first(x: Tensor) -> Tensor:
    """`x[0]`; plain indexing of a tensor that only claims a GPU asks for the GPU."""
    return x.select(0, 0)


OPS: dict[str, tuple[Callable[..., Any], tuple[Callable[[], Any], ...]]] = {
    # products, in the lower dtype
    "linear": (lambda x: F.linear(x, torch.ones(3, 6), torch.ones(3)), (rows,)),
    "linear_of_halves": (lambda x: F.linear(x, torch.ones(3, 6)), (halves,)),
    "matmul": (lambda x, y: x @ y.T, (rows, rows)),
    "matmul_mixed": (lambda x, y: x @ y.T, (rows, halves)),
    "matmul_of_doubles": (lambda x: x.double() @ x.double().T, (rows,)),
    "mm": (lambda x, y: torch.mm(x, y.T), (rows, rows)),
    "mv": (lambda x: torch.mv(x, first(x)), (rows,)),
    "addmm": (lambda x: torch.addmm(torch.ones(4, 4), x, x.T), (rows,)),
    "addmv": (lambda x: torch.addmv(torch.ones(4), x, first(x)), (rows,)),
    "addr": (lambda x: torch.addr(torch.ones(6, 6), first(x), x.select(0, 1)), (rows,)),
    "bmm": (lambda x: torch.bmm(first(x), x.select(0, 1)), (images,)),
    "baddbmm": (lambda x: torch.baddbmm(first(x), first(x), x.select(0, 1)), (images,)),
    "addbmm": (
        lambda x: torch.addbmm(first(first(x)), first(x), x.select(0, 1)), (images,)
    ),
    "einsum": (lambda x: torch.einsum("bi,ci->bc", x, x), (rows,)),
    "tensordot": (lambda x: torch.tensordot(x, x.T, 1), (rows,)),
    "tensordot_mixed": (lambda x, y: torch.tensordot(x, y.T, 1), (rows, halves)),
    "chain": (lambda x: torch.chain_matmul(x, x.T, x), (rows,)),
    "multi_dot": (lambda x: torch.linalg.multi_dot([x, x.T, x]), (rows,)),
    "vecdot": (lambda x: torch.linalg.vecdot(x, x), (rows,)),
    "linalg_matmul": (lambda x: torch.linalg.matmul(x, x.T), (rows,)),
    "inner": (lambda x: torch.inner(x, x), (rows,)),
    "outer": (lambda x: torch.outer(first(x), x.select(0, 1)), (rows,)),
    "dot": (lambda x: torch.dot(first(x), x.select(0, 1)), (rows,)),
    "conv1d": (lambda x: F.conv1d(x.select(1, 0), torch.ones(2, 8, 3)), (images,)),
    "conv2d": (lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3)), (images,)),
    "conv3d": (
        lambda x: F.conv3d(x.unsqueeze(0), torch.ones(2, 2, 1, 1, 1)), (images,)
    ),
    "conv_transpose2d": (
        lambda x: F.conv_transpose2d(x, torch.ones(3, 2, 3, 3)), (images,)
    ),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), (images,)),
    "bilinear": (
        lambda x: F.bilinear(x, x, torch.ones(2, 6, 6), torch.ones(2)), (rows,)
    ),
    "affine_grid": (
        lambda x: F.affine_grid(x.view(4, 2, 3), [4, 1, 5, 5], align_corners=False),
        (rows,),
    ),
    "logdet": (torch.logdet, (square,)),
    "matrix_exp": (torch.matrix_exp, (square,)),
    "multilabel_soft_margin": (F.multilabel_soft_margin_loss, (rows, spread)),
    "gumbel_softmax_of_halves": (F.gumbel_softmax, (halves,)),
    "gru_cell": (
        lambda x: torch.gru_cell(x, x, torch.ones(18, 6), torch.ones(18, 6)), (rows,)
    ),
    "prelu": (lambda x: F.prelu(x, torch.ones(1)), (rows,)),
    # kept as they come
    "add_mixed": (lambda x, y: x + y, (rows, halves)),
    "mul_of_halves": (lambda x: x * 2, (halves,)),
    "gelu_of_halves": (F.gelu, (halves,)),
    "relu_of_halves": (F.relu, (halves,)),
    "softmax": (lambda x: F.softmax(x, 1), (rows,)),
    "softmax_of_halves": (lambda x: F.softmax(x, 1), (halves,)),
    "log_softmax_of_halves": (lambda x: F.log_softmax(x, 1), (halves,)),
    "sum_of_halves": (lambda x: x.sum(), (halves,)),
    "mean_of_halves": (lambda x: x.mean(1), (halves,)),
    "exp_of_halves": (torch.exp, (halves,)),
    "pow_of_halves": (lambda x: x**2, (halves,)),
    "rsqrt_of_halves": (lambda x: x.abs().rsqrt(), (halves,)),
    "norm_of_halves": (lambda x: x.norm(), (halves,)),
    "layer_norm_of_halves": (lambda x: F.layer_norm(x, (6,)), (halves,)),
    "group_norm_of_halves": (
        lambda x: F.group_norm(x, 3, torch.ones(6), torch.ones(6)), (halves,)
    ),
    "batch_norm_of_halves": (
        lambda x: F.batch_norm(x, torch.zeros(6), torch.ones(6)), (halves,)
    ),
    "rms_norm_of_halves": (lambda x: F.rms_norm(x, (6,)), (halves,)),
    "cosine_of_halves": (lambda x: F.cosine_similarity(x, x), (halves,)),
    "embedding": (lambda x: F.embedding(torch.tensor([0, 1]), x), (rows,)),
    "max_pool_of_halves": (lambda x: F.max_pool2d(x.to(H), 2), (images,)),
    "adaptive_pool_of_halves": (
        lambda x: F.adaptive_avg_pool2d(x.to(H), 1), (images,)
    ),
    "dropout_of_halves": (lambda x: F.dropout(x), (halves,)),
    "cumsum_of_halves": (lambda x: x.cumsum(1), (halves,)),
    "where_mixed": (lambda x, y: torch.where(x > 0, x, y.float()), (rows, halves)),
    # the widest of the operands
    "cat_mixed": (lambda x, y: torch.cat([x, y]), (rows, halves)),
    "cat_of_halves": (lambda x: torch.cat([x, x]), (halves,)),
    "stack_mixed": (lambda x, y: torch.stack([x, y]), (rows, halves)),
    "addcmul_mixed": (lambda x, y: torch.addcmul(x, y, y), (rows, halves)),
    "atan2_mixed": (lambda x, y: torch.atan2(x, y), (rows, halves)),
    "index_put_mixed": (
        lambda x, y: x.index_put((torch.tensor([0]),), y.narrow(0, 0, 1).float()),
        (rows, halves),
    ),
    "scatter_add": (
        lambda x: x.scatter_add(0, torch.zeros(1, 6, dtype=torch.long), x), (rows,)
    ),
    # in float32
    "avg_pool3d_of_halves": (
        lambda x: F.avg_pool3d(x.to(H).unsqueeze(0), 2), (images,)
    ),
    "grid_sample_of_halves": (
        lambda x: F.grid_sample(x.to(H), torch.zeros(2, 4, 4, 2, dtype=H),
                                align_corners=False), (images,)
    ),
    "interpolate_of_halves": (lambda x: F.interpolate(x.to(H), size=4), (images,)),
    "bilinear_of_halves": (
        lambda x: F.interpolate(x.to(H), size=4, mode="bilinear"), (images,)
    ),
    "prod_of_halves": (lambda x: x.prod(), (halves,)),
    "quantile_of_halves": (lambda x: torch.quantile(x, 0.5), (halves,)),
    "cdist_of_halves": (lambda x: torch.cdist(x, x), (halves,)),
    "trace_of_halves": (lambda x: x.narrow(1, 0, 4).trace(), (halves,)),
    "cholesky_of_halves": (lambda x: torch.linalg.cholesky(x.to(H)), (square,)),
    "inverse_of_halves": (lambda x: torch.inverse(x.to(H)), (square,)),
    "solve_of_halves": (lambda x: torch.linalg.solve(x.to(H), x.to(H)), (square,)),
    "svdvals_of_halves": (lambda x: torch.linalg.svdvals(x.to(H)), (square,)),
    "fft_of_halves": (lambda x: torch.fft.rfft(x.to(H)), (square,)),
    "mse_loss_of_halves": (lambda x: F.mse_loss(x, x * 2), (halves,)),
    "l1_loss_of_halves": (lambda x: F.l1_loss(x, x * 2), (halves,)),
    "smooth_l1_of_halves": (lambda x: F.smooth_l1_loss(x, x * 2), (halves,)),
    "huber_of_halves": (lambda x: F.huber_loss(x, x * 2), (halves,)),
    "cross_entropy_of_halves": (
        lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long)), (halves,)
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long)), (rows,)
    ),
    "nll_of_halves": (
        lambda x: F.nll_loss(x, torch.zeros(4, dtype=torch.long)), (halves,)
    ),
    "bce_logits_of_halves": (
        lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid()), (halves,)
    ),
    "bce": (lambda x: F.binary_cross_entropy(x.sigmoid(), x.sigmoid()), (rows,)),
    "kl_div_of_halves": (
        lambda x: F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"),
        (halves,),
    ),
    "hinge_of_halves": (
        lambda x: F.hinge_embedding_loss(x, torch.ones(4, 6)), (halves,)
    ),
    "cosine_loss_of_halves": (
        lambda x: F.cosine_embedding_loss(x, x, torch.ones(4)), (halves,)
    ),
    "triplet_of_halves": (lambda x: F.triplet_margin_loss(x, x + 1, x - 1), (halves,)),
    "ctc": (
        lambda x: F.ctc_loss(
            x.unsqueeze(1).log_softmax(2), torch.tensor([[1, 2]]), torch.tensor([4]),
            torch.tensor([2]),
        ),
        (rows,),
    ),
    "reflection_pad_of_halves": (
        lambda x: F.pad(x.to(H), (1, 1), mode="reflect"), (images,)
    ),
    "zero_pad_of_halves": (lambda x: F.pad(x.to(H), (1, 1)), (images,)),
}  # fmt: skip
"""Name: function and makers of its inputs."""


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True)


def attention() -> nn.Module:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.MultiheadAttention(6, 2, batch_first=True)

        def forward(self, x: Tensor) -> Any:
            return self.inner(x, x, x)

    return Attention()


def sequence() -> Tensor:
    return torch.randn(2, 4, 6)


LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "Linear": (lambda: nn.Linear(6, 3), rows),
    "MLP": (
        lambda: nn.Sequential(
            nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)
        ),
        rows,
    ),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), images),
    "ConvBlock": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2),
        ),
        images,
    ),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 2), images),
    "LayerNorm": (lambda: nn.LayerNorm(6), rows),
    "GroupNorm": (lambda: nn.GroupNorm(3, 3), images),
    "MultiheadAttention": (attention, sequence),
    "TransformerEncoderLayer": (encoder, sequence),
    "LSTM": (lambda: nn.LSTM(6, 5, batch_first=True), sequence),
    "GRU": (lambda: nn.GRU(6, 5, 2), sequence),
    "RNN": (lambda: nn.RNN(6, 5), sequence),
    "LSTMCell": (lambda: nn.LSTMCell(6, 5), rows),
    "GRUCell": (lambda: nn.GRUCell(6, 5), rows),
    "Embedding": (lambda: nn.Embedding(5, 3), lambda: torch.tensor([[0, 1]])),
    "Bilinear": (lambda: Twice(nn.Bilinear(6, 6, 2)), rows),
    "CrossEntropyLoss": (
        lambda: Against(nn.Linear(6, 3), nn.CrossEntropyLoss(), torch.zeros(4).long()),
        rows,
    ),
    "MSELoss": (
        lambda: Against(nn.Linear(6, 3), nn.MSELoss(), torch.zeros(4, 3)), rows
    ),
    "BCEWithLogitsLoss": (
        lambda: Against(nn.Linear(6, 3), nn.BCEWithLogitsLoss(), torch.zeros(4, 3)),
        rows,
    ),
}  # fmt: skip
"""Name: layer and its input."""


class Twice(nn.Module):
    """A layer that takes its input twice."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        return self.inner(x, x)


class Against(nn.Module):
    """A layer and the loss of what it says."""

    def __init__(self, inner: nn.Module, loss: nn.Module, goal: Tensor) -> None:
        super().__init__()
        self.inner = inner
        self.loss = loss
        self.register_buffer("goal", goal)

    def forward(self, x: Tensor) -> Any:
        return self.loss(self.inner(x), self.goal)
