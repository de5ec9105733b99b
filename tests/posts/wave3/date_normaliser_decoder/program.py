import torch
import torch.nn as nn

PAD = 0


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)

    def forward(self, x, allowed=None):
        b, n, w = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        energy = q @ k.transpose(-2, -1) / (w // self.heads) ** 0.5
        if allowed is not None:
            energy = energy.masked_fill(~allowed, -1e4)
        y = energy.softmax(dim=-1) @ v
        return self.join(y.transpose(1, 2).reshape(b, n, w))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ffn = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x, allowed):
        x = self.norm1(x + self.attention(x, allowed))
        return self.norm2(x + self.ffn(x))


class DateNormaliser(nn.Module):
    """Writes dates in one form, character by character; short ones are padded."""

    def __init__(self, vocab=40, width=64, heads=4, layers=2, max_len=32):
        super().__init__()
        self.chars = nn.Embedding(vocab, width, padding_idx=PAD)
        self.places = nn.Embedding(max_len, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.scores = nn.Linear(width, vocab)

    def visible(self, ids):
        n = ids.size(1)
        past = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()
        return (ids != PAD)[:, None, :] & past

    def forward(self, ids):
        allowed = self.visible(ids)
        x = self.chars(ids) + self.places(torch.arange(ids.size(1), device=ids.device))
        for layer in self.layers:
            x = layer(x, allowed)
        return self.scores(x)
