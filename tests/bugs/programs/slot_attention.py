import torch
from torch import nn


class Model(nn.Module):
    """Slot attention (slots compete for inputs)."""

    def __init__(self, n_slots=4, dim=16, n_in=11, iters=3):
        super().__init__()
        self.n_slots, self.iters, self.scale = n_slots, iters, dim**-0.5
        self.inp = nn.Sequential(nn.LayerNorm(n_in), nn.Linear(n_in, 2 * dim))
        self.mu = nn.Parameter(torch.randn(1, 1, dim))
        self.log_sigma = nn.Parameter(torch.zeros(1, 1, dim))
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.norm = nn.LayerNorm(dim)
        self.gru = nn.GRUCell(dim, dim)

    def forward(self, inputs):
        b = inputs.size(0)
        k, v = self.inp(inputs).chunk(2, dim=-1)
        noise = torch.randn(b, self.n_slots, k.size(-1), device=inputs.device)
        slots = self.mu + self.log_sigma.exp() * noise
        for _ in range(self.iters):
            q = self.to_q(self.norm(slots))
            logits = torch.einsum("bnd,bsd->bsn", k, q) * self.scale
            attn = logits.softmax(dim=1) + 1e-8
            weights = attn / attn.sum(dim=-1, keepdim=True)
            updates = weights @ v
            slots = self.gru(
                updates.reshape(-1, updates.size(-1)),
                slots.reshape(-1, slots.size(-1)),
            ).view_as(slots)
        return slots, attn


def example_inputs():
    return (torch.randn(2, 30, 11),)
