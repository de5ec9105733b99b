import torch
import torch.nn as nn


class ProteinAttention(nn.Module):
    """Causal attention over residues, all projections written as einsum."""

    def __init__(self, width_in, width_out, heads, max_residues=256):
        super().__init__()
        self.heads = heads
        self.width_out = width_out
        self.wq = nn.Parameter(torch.randn(width_out, width_in) * width_in ** -0.5)
        self.wk = nn.Parameter(torch.randn(width_out, width_in) * width_in ** -0.5)
        self.wv = nn.Parameter(torch.randn(width_out, width_in) * width_in ** -0.5)
        self.mix = nn.Linear(width_out, width_out)
        future = torch.ones(max_residues, max_residues, dtype=torch.bool).triu(1)
        self.register_buffer('future', future)

    def project(self, x, weight):
        y = torch.einsum('btc,ce->bte', x, weight)
        b, t, e = y.shape
        return y.view(b, t, self.heads, e // self.heads)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.project(x, self.wq), self.project(x, self.wk), self.project(x, self.wv)
        affinity = torch.einsum('bqhe,bkhe->bhqk', q, k) * q.size(-1) ** -0.5
        affinity = affinity.masked_fill(self.future[:t, :t], float('-inf'))
        mixed = torch.einsum('bhqk,bkhe->bqhe', affinity.softmax(dim=-1), v)
        return self.mix(mixed.reshape(b, t, self.width_out))


def wide_attention():
    residue_width = 96
    return nn.Sequential(
        nn.LayerNorm(residue_width),
        ProteinAttention(residue_width, 2 * residue_width, heads=12),
        nn.Linear(2 * residue_width, 20),
    )
