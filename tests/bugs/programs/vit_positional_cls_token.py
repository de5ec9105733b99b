import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, img=32, patch=8, cin=3, dim=48):
        super().__init__()
        self.n = (img // patch) ** 2
        self.proj = nn.Conv2d(cin, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Model(nn.Module):
    def __init__(self, dim=48, depth=2, heads=4, classes=100):
        super().__init__()
        self.patch = PatchEmbed(dim=dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, self.patch.n, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.pos, std=0.02)

    def forward(self, x):
        tokens = self.patch(x)
        cls = self.cls.expand(tokens.size(0), -1, -1)
        tokens = torch.cat([cls, tokens], dim=1)
        tokens = tokens + self.pos
        tokens = self.encoder(tokens)
        return self.head(tokens[:, 0])


def example_inputs():
    return (torch.randn(2, 3, 32, 32),)
