"""Question and passage in one sequence, with 40 positions for both."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, vocab=30, width=16, max_len=40):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.seg = nn.Embedding(2, width)
        self.pos = nn.Parameter(torch.zeros(max_len, width))
        self.encoder = nn.TransformerEncoderLayer(
            width, 2, 32, dropout=0.0, batch_first=True
        )
        self.span = nn.Linear(width, 2)

    def forward(self, question, passage):
        ids = torch.cat([question, passage], dim=1)
        kind = torch.cat([torch.zeros_like(question), torch.ones_like(passage)], dim=1)
        x = self.tok(ids) + self.seg(kind)
        x = x + self.pos[: x.size(1)]
        x = self.encoder(x)
        start, end = self.span(x[:, question.size(1) :]).unbind(-1)
        return start, end
