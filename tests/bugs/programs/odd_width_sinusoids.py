import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        step = -math.log(10000.0) / d_model
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * step)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)


class Model(nn.Module):
    """Weather stations: 15 measured values per hour, no input projection."""

    def __init__(self, d_model=15, nhead=3, num_layers=2, horizon=6):
        super().__init__()
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, 40, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers)
        self.decoder = nn.Linear(d_model, horizon)

    def forward(self, src):
        out = self.encoder(self.pos(src))
        return self.decoder(out[:, -1])


def example_inputs():
    return (torch.randn(4, 24, 15),)
