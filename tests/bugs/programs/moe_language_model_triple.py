import torch
import torch.nn as nn
import torch.nn.functional as F


class SoftMoE(nn.Module):
    def __init__(self, dim, d_ff, n_experts):
        super().__init__()
        self.router = nn.Linear(d_ff, n_experts)
        self.w1 = nn.Parameter(torch.randn(n_experts, dim, d_ff) * 0.02)
        self.w2 = nn.Parameter(torch.randn(n_experts, d_ff, dim) * 0.02)

    def forward(self, x):
        gates = self.router(x).softmax(dim=-1)
        h = torch.einsum("btd,edf->btef", x, self.w1).relu()
        y = torch.einsum("btef,efd->bted", h, self.w2)
        return (y * gates).sum(dim=2)


class Model(nn.Module):
    def __init__(self, vocab=60, dim=24, d_ff=40, n_experts=5):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.moe = SoftMoE(dim, d_ff, n_experts)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x, _ = self.mix(self.tok(ids[:, :-1]))
        x = x + self.moe(x)
        logits = self.lm_head(x)
        labels = ids[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), labels)


def example_inputs():
    return (torch.randint(0, 60, (3, 13)),)
