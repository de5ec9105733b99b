import math
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

cfg = SimpleNamespace(sensors=10, width=24, depth=6, dropout=0.05, lr=3e-3, batch_size=50, epochs=8)


class TurbineReadings(Dataset):
    """Sensor readings of a wind turbine and its power output."""

    def __init__(self, n=1500, sensors=10, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.readings = torch.randn(n, sensors, generator=g)
        wind = self.readings[:, 0] + 0.3 * self.readings[:, 1]
        pitch = self.readings[:, 2]
        power = torch.tanh(wind) * torch.cos(pitch * math.pi / 2) + 0.4 * self.readings[:, 3] * self.readings[:, 4]
        self.power = (power + 0.05 * torch.randn(n, generator=g)).unsqueeze(1)

    def __len__(self):
        return self.power.size(0)

    def __getitem__(self, i):
        return self.readings[i], self.power[i]


class ResidualBlock(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        h = torch.relu(self.fc1(self.norm(x)))
        return x + self.drop(self.fc2(h))


class TurbineNet(nn.Module):
    def __init__(self, sensors, width, depth, dropout):
        super().__init__()
        self.inp = nn.Linear(sensors, width)
        self.blocks = nn.ModuleList([ResidualBlock(width, dropout)] * depth)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


def train_epoch(model, loader, optimizer, loss_fn):
    model.train()
    for readings, power in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(readings), power)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def test_error(model, loader, loss_fn):
    model.eval()
    total = sum(loss_fn(model(r), p).item() * len(p) for r, p in loader)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    data = TurbineReadings(sensors=cfg.sensors)
    train_set, test_set = random_split(data, [1200, 300])
    train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=100)
    model = TurbineNet(cfg.sensors, cfg.width, cfg.depth, cfg.dropout)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    loss_fn = nn.MSELoss()
    for epoch in range(cfg.epochs):
        train_epoch(model, train_loader, optimizer, loss_fn)
    print(f"depth {cfg.depth}: test error {test_error(model, test_loader, loss_fn):.4f}")


if __name__ == "__main__":
    main()
