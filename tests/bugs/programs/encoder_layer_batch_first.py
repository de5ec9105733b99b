import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div)
        pe[0, :, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class Model(nn.Module):
    """Text classifier on (batch, time) ids."""

    def __init__(self, vocab=200, d_model=32, nhead=4, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 64, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.cls = nn.Linear(d_model, classes)

    def forward(self, ids):
        x = self.pos(self.emb(ids))
        x = self.encoder(x)
        return self.cls(x.mean(dim=1))


def example_inputs():
    return (torch.randint(0, 200, (4, 30)),)
