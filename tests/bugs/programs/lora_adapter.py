import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    """Frozen weight plus a trainable low-rank update."""

    def __init__(self, d_in, d_out, rank=4, alpha=8):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in), requires_grad=False)
        self.lora_A = nn.Parameter(torch.empty(rank, d_in))
        self.lora_B = nn.Parameter(torch.zeros(d_out, rank))
        self.scaling = alpha / rank
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        base = F.linear(x, self.weight)
        update = x @ self.lora_A @ self.lora_B.T
        return base + self.scaling * update


class Model(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.up = LoRALinear(dim, dim * 2)

    def forward(self, tokens):
        return torch.tanh(self.up(tokens))


def example_inputs():
    return (torch.randn(4, 9, 48),)
