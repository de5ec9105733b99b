import torch
from torch import nn


class CausalHead(nn.Module):
    def __init__(self, dim, head):
        super().__init__()
        self.key = nn.Linear(dim, head, bias=False)
        self.query = nn.Linear(dim, head, bias=False)
        self.value = nn.Linear(dim, head, bias=False)

    def forward(self, x):
        T = x.shape[1]
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        ban = torch.full((T, T), float("-inf")).triu(1)
        wei = wei + ban
        return wei.softmax(dim=-1) @ v


class Model(nn.Module):
    def __init__(self, dim=20, n_head=4):
        super().__init__()
        self.heads = nn.ModuleList(CausalHead(dim, dim // n_head) for _ in range(n_head))
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)


def example_inputs():
    return (torch.randn(2, 14, 20),)
