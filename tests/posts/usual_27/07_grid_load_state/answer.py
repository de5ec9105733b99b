import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

cfg = {
    "window": 48,
    "horizon": 6,
    "hidden": 48,
    "layers": 2,
    "batch_size": 32,
    "epochs": 2,
    "lr": 2e-3,
}


class GridLoad(Dataset):
    """Hourly load of a power grid, cut in overlapping windows."""

    def __init__(self, hours, window, horizon, stride=3, offset=0):
        t = torch.arange(offset, offset + hours, dtype=torch.float32)
        daily = torch.sin(2 * math.pi * t / 24)
        weekly = 0.5 * torch.sin(2 * math.pi * t / 168)
        self.series = daily + weekly + 0.1 * torch.randn(hours)
        self.window = window
        self.horizon = horizon
        self.starts = list(range(0, hours - window - horizon + 1, stride))

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i]
        past = self.series[s:s + self.window].unsqueeze(-1)
        future = self.series[s + self.window:s + self.window + self.horizon]
        return past, future


class LoadForecaster(nn.Module):
    def __init__(self, hidden, layers, horizon):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.lstm = nn.LSTM(1, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, horizon)

    def initial_state(self, batch_size):
        weight = next(self.parameters())
        shape = (self.layers, batch_size, self.hidden)
        return weight.new_zeros(shape), weight.new_zeros(shape)

    def forward(self, past, state):
        out, state = self.lstm(past, state)
        return self.head(out[:, -1]), state


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for past, future in loader:
        state = model.initial_state(cfg["batch_size"])
        forecast, _ = model(past, state)
        loss = criterion(forecast, future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(model, loader, criterion):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for past, future in loader:
            state = model.initial_state(past.size(0))
            forecast, _ = model(past, state)
            total += criterion(forecast, future).item() * past.size(0)
            count += past.size(0)
    return total / count


torch.manual_seed(0)
train_set = GridLoad(800, cfg["window"], cfg["horizon"])
valid_set = GridLoad(285, cfg["window"], cfg["horizon"], offset=800)
train_loader = DataLoader(train_set, cfg["batch_size"], shuffle=True, drop_last=True)
valid_loader = DataLoader(valid_set, cfg["batch_size"])

model = LoadForecaster(cfg["hidden"], cfg["layers"], cfg["horizon"])
optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
criterion = nn.MSELoss()
for epoch in range(cfg["epochs"]):
    train_loss = train_epoch(model, train_loader, optimizer, criterion)
    valid_loss = validate(model, valid_loader, criterion)
    print(f"epoch {epoch}: train {train_loss:.4f} valid {valid_loss:.4f}")
print(len(valid_set), "validation windows")
