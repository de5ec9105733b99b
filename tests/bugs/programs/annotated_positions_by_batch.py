import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class TrainConfig:
    vocab: int = 120
    d_model: int = 32
    nhead: int = 4
    nlayers: int = 2
    max_len: int = 64
    n_labels: int = 3


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(0)]


class Model(nn.Module):
    def __init__(self, cfg=TrainConfig()):
        super().__init__()
        self.cfg = cfg
        self.encoder = nn.Embedding(cfg.vocab, cfg.d_model)
        self.pos_encoder = PositionalEncoding(cfg.d_model, cfg.max_len)
        layer = nn.TransformerEncoderLayer(cfg.d_model, cfg.nhead, 64, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, cfg.nlayers)
        self.decoder = nn.Linear(cfg.d_model, cfg.n_labels)

    def forward(self, src):
        src = self.encoder(src) * math.sqrt(self.cfg.d_model)
        src = self.pos_encoder(src)
        output = self.transformer(src)
        return self.decoder(output.mean(dim=1))


def example_inputs():
    return (torch.randint(0, 120, (8, 21)),)
