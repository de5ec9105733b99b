import math

import torch
import torch.nn as nn


class TokenEmbedding(nn.Module):
    def __init__(self, num_words, emb_size):
        super().__init__()
        self.embedding = nn.Embedding(num_words, emb_size)
        self.emb_size = emb_size

    def forward(self, tokens):
        return self.embedding(tokens) * math.sqrt(self.emb_size)


class Model(nn.Module):
    """Words are 0..num_words-1, then <bos> and <eos>."""

    def __init__(self, num_words=100, emb_size=32, nhead=4):
        super().__init__()
        self.bos, self.eos = num_words, num_words + 1
        self.tok = TokenEmbedding(num_words, emb_size)
        layer = nn.TransformerEncoderLayer(
            emb_size, nhead, dim_feedforward=64, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)

    def frame(self, sentences):
        bos = torch.full_like(sentences[:, :1], self.bos)
        eos = torch.full_like(sentences[:, :1], self.eos)
        return torch.cat([bos, sentences, eos], dim=1)

    def forward(self, sentences):
        return self.encoder(self.tok(self.frame(sentences)))


def example_inputs():
    return (torch.randint(0, 100, (4, 10)),)
