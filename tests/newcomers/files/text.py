import torch
from torch import nn


class TextNet(nn.Module):
    """A small transformer classifier over token ids, i64[B, T]."""

    def __init__(self, vocab: int = 1000, dim: int = 64, heads: int = 4, layers: int = 2,
                 max_len: int = 128, classes: int = 5):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 4, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tok(tokens) + self.pos(steps)
        x = self.encoder(x)
        return self.head(self.norm(x).mean(dim=1))
