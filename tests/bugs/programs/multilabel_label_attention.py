from __future__ import annotations

import torch
from torch import Tensor, nn


class LabelAttention(nn.Module):
    """One attention head per label, as in CAML."""

    def __init__(self, dim: int, n_labels: int):
        super().__init__()
        self.u = nn.Parameter(torch.randn(n_labels, dim) * 0.02)
        self.final = nn.Parameter(torch.randn(n_labels, dim) * 0.02)

    def forward(self, h: Tensor) -> Tensor:
        alpha = torch.einsum("btd,ld->blt", h, self.u).softmax(dim=-1)
        m = torch.einsum("blt,btd->bld", alpha, h)
        return (m * self.final).sum(-1)


class Model(nn.Module):
    def __init__(self, vocab: int = 500, emb: int = 96, hid: int = 80, labels: int = 17):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.conv = nn.Conv1d(emb, hid, kernel_size=5, padding=2)
        self.labels = LabelAttention(emb, labels)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.emb(ids).transpose(1, 2)
        h = torch.tanh(self.conv(x)).transpose(1, 2)
        return self.labels(h)


def example_inputs():
    return (torch.randint(0, 500, (3, 41)),)
