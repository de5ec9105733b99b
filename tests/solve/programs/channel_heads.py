"""Attention over the channels of a map, with heads but without weights."""

import torch
import torch.nn.functional as F
from torch import nn


class ChannelAttention(nn.Module):
    def __init__(self, num_heads=4):
        super().__init__()
        self.num_heads = num_heads
        self.temperature = nn.Parameter(torch.ones(num_heads, 1, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        heads = x.reshape(b, self.num_heads, c // self.num_heads, h * w)
        heads = F.normalize(heads, dim=-1)
        attn = (heads @ heads.transpose(-2, -1)) * self.temperature
        out = attn.softmax(dim=-1) @ heads
        return out.reshape(b, c, h, w)
