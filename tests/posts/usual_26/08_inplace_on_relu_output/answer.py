import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


def bike_demand(hours, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    daily = np.sin(2 * np.pi * t / 24)
    weekly = 0.5 * np.sin(2 * np.pi * t / 168)
    return (daily + weekly + 0.1 * rng.standard_normal(hours)).astype(np.float32)


class DemandWindows(Dataset):
    def __init__(self, series, history=96, horizon=12):
        self.series = torch.from_numpy(series)
        self.history, self.horizon = history, horizon

    def __len__(self):
        return len(self.series) - self.history - self.horizon + 1

    def __getitem__(self, i):
        cut = i + self.history
        return self.series[i:cut].unsqueeze(0), self.series[cut:cut + self.horizon]


class CausalConv(nn.Module):
    def __init__(self, c_in, c_out, kernel, dilation):
        super().__init__()
        self.left = (kernel - 1) * dilation
        self.conv = nn.Conv1d(c_in, c_out, kernel, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.left, 0)))


class TemporalBlock(nn.Module):
    def __init__(self, c_in, c_out, kernel, dilation, p):
        super().__init__()
        self.conv1 = CausalConv(c_in, c_out, kernel, dilation)
        self.conv2 = CausalConv(c_out, c_out, kernel, dilation)
        self.drop = nn.Dropout(p)
        self.match = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x):
        h = self.drop(F.relu(self.conv1(x)))
        h = F.relu(self.conv2(h))
        h = h + self.match(x)
        return h


class DemandTCN(nn.Module):
    def __init__(self, channels=(16, 32, 32), kernel=3, horizon=12, p=0.1):
        super().__init__()
        blocks, c_in = [], 1
        for level, c_out in enumerate(channels):
            blocks.append(TemporalBlock(c_in, c_out, kernel, 2 ** level, p))
            c_in = c_out
        self.tcn = nn.Sequential(*blocks)
        self.readout = nn.Linear(c_in, horizon)

    def forward(self, x):
        return self.readout(self.tcn(x)[:, :, -1])


def validate(model, loader):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for past, future in loader:
            err += (model(past) - future).abs().sum().item()
            n += future.numel()
    return err / n


def train(model, train_loader, val_loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for epoch in range(epochs):
        model.train()
        for past, future in train_loader:
            loss = F.smooth_l1_loss(model(past), future)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"epoch {epoch}: MAE {validate(model, val_loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    series = bike_demand(1000)
    train_loader = DataLoader(DemandWindows(series[:800]), batch_size=64, shuffle=True)
    val_loader = DataLoader(DemandWindows(series[800:]), batch_size=64)
    train(DemandTCN(), train_loader, val_loader, epochs=3)
