import numpy as np
import torch
from collections import Counter
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Subset, TensorDataset

SPECIES = ["robin", "wren", "blackbird", "kingfisher", "bittern"]
counts = [40, 35, 30, 12, 1]

rng = np.random.default_rng(0)
y = np.repeat(np.arange(len(SPECIES)), counts)
x = rng.normal(size=(len(y), 40)) + y[:, None] * 0.4
dataset = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))

indices = np.arange(len(y))
train_idx, val_idx = train_test_split(indices, test_size=0.2, stratify=y, random_state=42)
train_loader = DataLoader(Subset(dataset, train_idx), batch_size=16, shuffle=True)
val_loader = DataLoader(Subset(dataset, val_idx), batch_size=16)

net = torch.nn.Linear(40, len(SPECIES))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(5):
    for xb, yb in train_loader:
        loss = torch.nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()

with torch.no_grad():
    right = sum((net(xb).argmax(1) == yb).sum().item() for xb, yb in val_loader)
print(Counter(y[train_idx].tolist()), "val acc", right / len(val_idx))
