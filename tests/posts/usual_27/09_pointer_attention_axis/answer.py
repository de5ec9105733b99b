import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class PointedTokens(Dataset):
    """The first token names a position, the token found there is the class."""

    def __init__(self, n, length=9, n_classes=6, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, n_classes, (n, length), generator=g)
        where = torch.randint(1, length, (n,), generator=g)
        self.labels = self.ids[torch.arange(n), where]
        self.ids[:, 0] = n_classes + where

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i], self.labels[i]


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout=0.0):
        super().__init__()
        self.heads = heads
        self.scale = 1.0 / math.sqrt(dim // heads)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, D = x.shape
        qkv = self.qkv(x).view(B, T, 3, self.heads, D // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) * self.scale
        weights = self.dropout(self.softmax(scores))
        out = (weights @ v).transpose(1, 2).reshape(B, T, D)
        return self.proj(out), weights


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = SelfAttention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        a, weights = self.attention(self.norm1(x))
        x = x + a
        return x + self.mlp(self.norm2(x)), weights


class PointerClassifier(nn.Module):
    def __init__(self, vocab, length, n_classes, dim=32, heads=4, depth=2):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Parameter(torch.randn(1, length, dim) * 0.3)
        self.layers = nn.ModuleList([Layer(dim, heads) for _ in range(depth)])
        self.head = nn.Linear(dim, n_classes)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions
        for layer in self.layers:
            x, weights = layer(x)
        return self.head(x[:, 0]), weights


torch.manual_seed(4)
train = DataLoader(PointedTokens(1500), batch_size=50, shuffle=True)
test = DataLoader(PointedTokens(300, seed=1), batch_size=100)
model = PointerClassifier(vocab=15, length=9, n_classes=6)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for ids, labels in train:
        optimizer.zero_grad()
        logits, _ = model(ids)
        loss = nn.functional.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    hits = sum((model(ids)[0].argmax(1) == labels).sum().item() for ids, labels in test)
    _, weights = model(ids)
print(f"accuracy {hits / 300:.3f}, mean row sum {weights.sum(-1).mean():.2f}")
