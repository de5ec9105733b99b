import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, n_state, n_head):
        super().__init__()
        self.n_head = n_head
        self.query = nn.Linear(n_state, n_state)
        self.key = nn.Linear(n_state, n_state, bias=False)
        self.value = nn.Linear(n_state, n_state)
        self.out = nn.Linear(n_state, n_state)

    def split(self, x):
        n, t, s = x.shape
        return x.view(n, t, self.n_head, s // self.n_head).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        n, t, s = x.shape
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        w = q @ k.transpose(-1, -2) * (s // self.n_head) ** -0.5
        w = F.softmax(w + mask[:t, :t], dim=-1)
        y = (w @ v).permute(0, 2, 1, 3)
        return self.out(y.view(n, t, s))


class Model(nn.Module):
    def __init__(self, n_events=128, n_ctx=40, n_state=32, n_head=4):
        super().__init__()
        self.token = nn.Embedding(n_events, n_state)
        self.positions = nn.Parameter(torch.randn(n_ctx, n_state) * 0.01)
        self.attn = MultiHeadAttention(n_state, n_head)
        self.ln = nn.LayerNorm(n_state)
        mask = torch.empty(n_ctx, n_ctx).fill_(float("-inf")).triu_(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, events):
        x = self.token(events) + self.positions[: events.shape[-1]]
        x = x + self.attn(self.ln(x), self.mask)
        return x @ self.token.weight.t()


def example_inputs():
    return (torch.randint(0, 128, (2, 24)),)
