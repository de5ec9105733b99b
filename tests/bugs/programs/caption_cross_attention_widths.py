import torch
from torch import nn


class CaptionDecoderLayer(nn.Module):
    def __init__(self, d_model, d_image, n_heads, d_ff):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )

    def forward(self, tgt, image, tgt_mask):
        h, _ = self.self_attn(tgt, tgt, tgt, attn_mask=tgt_mask)
        tgt = self.norm1(tgt + h)
        h, weights = self.cross_attn(tgt, image, image)
        tgt = self.norm2(tgt + h)
        return self.norm3(tgt + self.ff(tgt)), weights


class Model(nn.Module):
    def __init__(self, vocab_size=90, d_model=32, d_image=56, n_heads=4):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.layer = CaptionDecoderLayer(d_model, d_image, n_heads, d_ff=64)
        self.out = nn.Linear(d_model, vocab_size)

    def forward(self, captions, image):
        T = captions.shape[1]
        tgt_mask = torch.ones(T, T, dtype=torch.bool).triu(1)
        x, weights = self.layer(self.embed(captions), image, tgt_mask)
        return self.out(x), weights


def example_inputs():
    return torch.randint(0, 90, (3, 11)), torch.randn(3, 49, 56)
