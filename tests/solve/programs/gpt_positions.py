"""A language model with learned positions; nothing checks the length."""

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, vocab=30, width=16, max_len=24):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(max_len, width)
        self.block = nn.TransformerEncoderLayer(
            width, 2, dim_feedforward=32, batch_first=True, dropout=0.0
        )
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        length = ids.shape[1]
        where = torch.arange(length, device=ids.device)
        x = self.tokens(ids)
        x = x + self.positions(where)
        mask = torch.full((length, length), float("-inf")).triu(1)
        x = self.block(x, src_mask=mask)
        return self.head(x)
