import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

LR = 0.05
MOMENTUM = 0.9
WEIGHT_DECAY = 2e-2
EPOCHS = 25


def make_spectra(n, seed):
    g = np.random.default_rng(seed)
    y = g.integers(0, 4, n)
    grid = np.linspace(0, 1, 120)
    x = g.normal(0, 1.3, (n, 120))
    for k in range(4):
        peak = np.exp(-((grid - (0.2 + 0.2 * k)) ** 2) / 0.002)
        x += (y == k)[:, None] * peak[None] * 1.0
    flip = g.random(n) < 0.15
    noisy = np.where(flip, g.integers(0, 4, n), y)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(noisy), torch.tensor(y)


class SpectrumNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(120, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.layers(x)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
        return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


torch.manual_seed(0)
x_train, y_train, _ = make_spectra(600, seed=1)
x_val, _, y_val = make_spectra(800, seed=2)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

model = SpectrumNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[15, 20], gamma=0.2)

for epoch in range(EPOCHS):
    model.train()
    total, hits = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        hits += (logits.argmax(1) == y).sum().item()
    scheduler.step()
    if epoch % 5 == 4:
        val_loss, val_acc = evaluate(model, x_val, y_val)
        norm = sum(p.norm() ** 2 for p in model.parameters()).sqrt().item()
        print(f"epoch {epoch + 1}: train loss {total / len(x_train):.3f} acc {hits / len(x_train):.3f}  "
              f"val loss {val_loss:.3f} acc {val_acc:.3f}  |w| {norm:.1f}")
