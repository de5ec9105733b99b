import torch
from torch import nn


class TokenMixer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(x)


class GenomeClassifier(nn.Module):
    def __init__(self, n_bases, kmer, width, heads, n_species):
        super().__init__()
        self.kmer = kmer
        self.embed = nn.Linear(n_bases * kmer, width)
        self.cls_token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.mixer = TokenMixer(width, heads)
        self.head = nn.Linear(width, n_species)

    def forward(self, onehot):
        B, L, A = onehot.shape
        tokens = onehot.reshape(B, L // self.kmer, self.kmer * A)
        tokens = self.embed(tokens)
        cls = self.cls_token.expand(B, -1)
        x = torch.cat([cls, tokens], dim=1)
        x = self.mixer(x)
        return self.head(x[:, 0])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GenomeClassifier(n_bases=4, kmer=6, width=40, heads=5, n_species=9)

    def forward(self, onehot):
        return self.net(onehot)


def example_inputs():
    bases = torch.randint(0, 4, (3, 60))
    return (nn.functional.one_hot(bases, 4).float(),)
