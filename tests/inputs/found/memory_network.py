"""End-to-end memory network for the bAbI tasks."""

import torch
from torch import nn


class MemN2N(nn.Module):
    def __init__(self, vocab=40, dim=12, max_sentences=20, sentence_size=7, hops=3):
        super().__init__()
        self.hops = hops
        self.tables = nn.ModuleList(
            [nn.Embedding(vocab, dim, padding_idx=0) for _ in range(hops + 1)]
        )
        self.temporal = nn.Parameter(torch.zeros(max_sentences, dim))
        self.register_buffer("encoding", self.position_encoding(sentence_size, dim))

    @staticmethod
    def position_encoding(sentence_size, dim):
        j = torch.arange(1, sentence_size + 1)[:, None] / sentence_size
        k = torch.arange(1, dim + 1)[None, :] / dim
        return (1 - j) - k * (1 - 2 * j)

    def forward(self, story, query):
        """
        story: (batch, sentences, words) ids
        query: (batch, words) ids
        """
        u = (self.tables[0](query) * self.encoding).sum(1)
        for hop in range(self.hops):
            keys = (self.tables[hop](story) * self.encoding).sum(2)
            keys = keys + self.temporal[: story.size(1)]
            values = (self.tables[hop + 1](story) * self.encoding).sum(2)
            p = torch.softmax(torch.einsum("bsd,bd->bs", keys, u), dim=-1)
            u = u + torch.einsum("bs,bsd->bd", p, values)
        return u @ self.tables[-1].weight.t()
