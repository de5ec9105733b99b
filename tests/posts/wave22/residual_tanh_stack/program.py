import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_signal(n):
    t = torch.rand(n, 1) * 4 - 2
    freq = torch.rand(n, 1) * 2 + 0.5
    x = torch.cat([t, freq], dim=1)
    target = torch.sin(math.pi * freq * t) * torch.exp(-0.3 * t ** 2)
    return x, target


class ResidualTanhNet(nn.Module):
    def __init__(self, in_dim, width, depth):
        super().__init__()
        self.lift = nn.Linear(in_dim, width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        y = self.lift(x)
        for layer in self.layers:
            y += torch.tanh(layer(y))
        return self.out(y)


def evaluate(model, x, target):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), target).item()


def main():
    torch.manual_seed(1)
    x, target = make_signal(512)
    val_x, val_target = make_signal(128)
    loader = DataLoader(TensorDataset(x, target), batch_size=64, shuffle=True)

    model = ResidualTanhNet(in_dim=2, width=32, depth=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()

    print("before", evaluate(model, val_x, val_target))
    for epoch in range(20):
        model.train()
        for bx, bt in loader:
            pred = model(bx)
            loss = criterion(pred, bt)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("after", evaluate(model, val_x, val_target))


if __name__ == "__main__":
    main()
