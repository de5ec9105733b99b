import math

import torch
from torch import nn, Tensor


class PositionalEncoding(nn.Module):

    def __init__(self, d_model: int, max_len: int = 500):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        """x: [seq_len, batch_size, embedding_dim]"""
        return x + self.pe[:x.size(0)]


class Model(nn.Module):
    def __init__(self, ntoken: int = 90, d_model: int = 16):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(ntoken, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, 2, 32)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.linear = nn.Linear(d_model, ntoken)

    def forward(self, ids: Tensor) -> Tensor:
        src = self.embedding(ids.t()) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        mask = nn.Transformer.generate_square_subsequent_mask(len(src)).to(src.device)
        out = self.encoder(src, mask)
        return self.linear(out).transpose(0, 1)


def example_inputs():
    return (torch.randint(0, 90, (4, 13)),)
