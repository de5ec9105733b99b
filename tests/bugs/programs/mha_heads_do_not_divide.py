import torch
import torch.nn as nn


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff=128):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        a, _ = self.attn(x, x, x)
        x = self.ln1(x + a)
        return self.ln2(x + self.ff(x))


class Model(nn.Module):
    def __init__(self, n_sensors=9, d_model=100, n_heads=8, n_classes=4):
        super().__init__()
        self.inp = nn.Linear(n_sensors, d_model)
        self.block = EncoderBlock(d_model, n_heads)
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, x):
        x = self.inp(x)
        x = self.block(x)
        return self.out(x)


def example_inputs():
    return (torch.randn(2, 13, 9),)
