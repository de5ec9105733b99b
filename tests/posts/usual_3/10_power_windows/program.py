import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

LOOKBACK = 48
HORIZON = 12


class LoadWindows(Dataset):
    """Past LOOKBACK hours of the grid load -> next HORIZON hours."""

    def __init__(self, series, lookback, horizon):
        self.series = torch.as_tensor(series, dtype=torch.float32)
        self.lookback = lookback
        self.horizon = horizon

    def __len__(self):
        return len(self.series) - self.lookback

    def __getitem__(self, idx):
        mid = idx + self.lookback
        x = self.series[idx:mid]
        y = self.series[mid:mid + self.horizon]
        return x, y


class DLinear(nn.Module):
    def __init__(self, lookback, horizon, kernel=25):
        super().__init__()
        self.avg = nn.AvgPool1d(kernel, stride=1, padding=kernel // 2, count_include_pad=False)
        self.trend = nn.Linear(lookback, horizon)
        self.season = nn.Linear(lookback, horizon)

    def forward(self, x):
        t = self.avg(x.unsqueeze(1)).squeeze(1)
        return self.trend(t) + self.season(x - t)


np.random.seed(2)
torch.manual_seed(2)
hours = np.arange(24 * 60)
load = 50 + 10 * np.sin(2 * np.pi * hours / 24) + np.random.randn(len(hours))
load = (load - load.mean()) / load.std()

split = int(0.8 * len(load))
train_loader = DataLoader(LoadWindows(load[:split], LOOKBACK, HORIZON), batch_size=64, shuffle=True)
valid_loader = DataLoader(LoadWindows(load[split:], LOOKBACK, HORIZON), batch_size=64)

model = DLinear(LOOKBACK, HORIZON)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

    model.eval()
    errors = []
    with torch.no_grad():
        for x, y in valid_loader:
            errors.append((model(x) - y).abs().mean(dim=1))
    print(f"epoch {epoch}: train {loss.item():.4f}, valid MAE {torch.cat(errors).mean():.4f}")
