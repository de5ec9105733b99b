#!/usr/bin/env python
# Twins: are two drawings of the same kind? Siamese net, contrastive loss.
import random

import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

random.seed(0)
torch.manual_seed(0)


class Pairs(Dataset):
    def __init__(self, n_pairs, kinds=5, dim=40, noise=0.4):
        self.proto = torch.randn(kinds, dim, generator=torch.Generator().manual_seed(1))
        self.noise = noise
        self.pairs = []
        for _ in range(n_pairs):
            a = random.randrange(kinds)
            same = random.random() < 0.5
            b = a if same else random.choice([k for k in range(kinds) if k != a])
            self.pairs.append((a, b, float(same)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b, same = self.pairs[i]
        xa = self.proto[a] + self.noise * torch.randn(self.proto.shape[1])
        xb = self.proto[b] + self.noise * torch.randn(self.proto.shape[1])
        return xa, xb, torch.tensor(same)


class Encoder(nn.Module):
    def __init__(self, dim=40, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, out))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=0.8):
        super().__init__()
        self.margin = margin

    def forward(self, d, same):
        return (same * d.pow(2) + (1 - same) * (self.margin - d).clamp(min=0).pow(2)).mean()


encoder = Encoder()
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
train_loader = DataLoader(Pairs(300), batch_size=32, shuffle=True)
val_loader = DataLoader(Pairs(70), batch_size=32)


def step(batch):
    xa, xb, same = batch
    d = (encoder(xa) - encoder(xb)).norm(dim=1)
    return criterion(d, same), d, same


def train():
    encoder.train()
    total = 0.0
    for batch in train_loader:
        loss, _, same = step(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(same)
    return total / len(train_loader.dataset)


def validate(threshold=0.5):
    encoder.eval()
    torch.set_grad_enabled(False)
    hits, total = 0, 0.0
    for batch in val_loader:
        loss, d, same = step(batch)
        total += loss.item() * len(same)
        hits += ((d < threshold).float() == same).sum().item()
    n = len(val_loader.dataset)
    return total / n, hits / n


for epoch in range(1, 5):
    train_loss = train()
    val_loss, val_acc = validate()
    print(f"{epoch}: train {train_loss:.4f} val {val_loss:.4f} acc {val_acc:.3f}")
