import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

WORK = tempfile.mkdtemp()
BEST = os.path.join(WORK, "best.pt")
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def build_model():
    return nn.Sequential(
        nn.Linear(12, 32), nn.ReLU(),
        nn.Linear(32, 32), nn.ReLU(),
        nn.Linear(32, 3),
    ).to(device)


def spirals(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return TensorDataset(x, y)


def train_one_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    good = 0
    for x, y in loader:
        good += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return good / len(loader.dataset)


torch.manual_seed(3)
train_loader = DataLoader(spirals(96, 0), batch_size=24, shuffle=True)
val_loader = DataLoader(spirals(40, 1), batch_size=40)

model = build_model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
best = -1.0
for epoch in range(3):
    loss = train_one_epoch(model, train_loader, optimizer)
    accuracy = evaluate(model, val_loader)
    if accuracy > best:
        best = accuracy
        torch.save(model.state_dict(), BEST)
    print(f"epoch {epoch} loss {loss:.4f} accuracy {accuracy:.3f}")

# go on from the best epoch with a smaller step
model = build_model()
model.load_state_dict(torch.load(BEST))
for group in optimizer.param_groups:
    group["lr"] *= 0.2
for epoch in range(3, 5):
    loss = train_one_epoch(model, train_loader, optimizer)
    print(f"epoch {epoch} loss {loss:.4f} accuracy {evaluate(model, val_loader):.3f}")
