# line 28: the dict of sums is created before the loop over the epochs and never emptied
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(59)
series = torch.randn(240, 16)
target = (series[:, -4:].mean(1) > series[:, :4].mean(1)).float()
train = DataLoader(TensorDataset(series[:200], target[:200]), 25, shuffle=True)
valid = DataLoader(TensorDataset(series[200:], target[200:]), 20)
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1), nn.Flatten(0))
bce = nn.BCEWithLogitsLoss(reduction="none")
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)


def add(stats, logits, y):
    stats["loss"] += bce(logits, y).sum().item()
    stats["tp"] += int(((logits > 0) & (y == 1)).sum())
    stats["fp"] += int(((logits > 0) & (y == 0)).sum())
    stats["fn"] += int(((logits <= 0) & (y == 1)).sum())
    stats["n"] += len(y)


def f1(stats):
    return 2 * stats["tp"] / max(2 * stats["tp"] + stats["fp"] + stats["fn"], 1)


stats = dict.fromkeys(["loss", "tp", "fp", "fn", "n"], 0)
for epoch in range(5):
    net.train()
    for x, y in train:
        optimizer.zero_grad()
        bce(net(x), y).mean().backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for x, y in valid:
            add(stats, net(x), y)
    print(f"{epoch} loss {stats['loss'] / stats['n']:.4f} f1 {f1(stats):.3f}")
