"""A decoder that attends to an encoded sentence under a mask."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.combine = nn.Linear(2 * width, width)

    def forward(self, decoded, encoded, mask):
        """decoded (B, T, D), encoded (B, S, D), mask (B, S)"""
        scores = self.query(decoded) @ encoded.transpose(1, 2)
        scores = scores.masked_fill(~mask.unsqueeze(1), -1e9)
        weights = torch.softmax(scores, dim=-1)
        context = weights @ encoded
        return torch.tanh(self.combine(torch.cat([decoded, context], dim=-1)))
