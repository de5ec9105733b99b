# line 22: __len__ counts all time steps, so the window and its target run beyond the end of the series for the last indices; mended by: a length that leaves room for window and horizon
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class RiverLevels(Dataset):
    """Past `lookback` hours of level and rain -> level in `horizon` hours."""

    def __init__(self, lookback=24, horizon=6, hours=500):
        rng = np.random.default_rng(12)
        rain = rng.gamma(0.3, 2.0, hours)
        level = np.zeros(hours)
        for t in range(1, hours):
            level[t] = 0.95 * level[t - 1] + 0.2 * rain[t - 1]
        self.values = np.stack([level, rain], axis=1).astype(np.float32)
        self.lookback = lookback
        self.horizon = horizon

    def __len__(self):
        return len(self.values) - self.lookback - self.horizon + 1

    def __getitem__(self, i):
        past = self.values[i:i + self.lookback]
        future = self.values[i + self.lookback + self.horizon - 1, 0]
        return torch.from_numpy(past), torch.tensor(future)


class TCNBlock(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(cin, cout, 3, dilation=dilation)
        self.skip = nn.Conv1d(cin, cout, 1)

    def forward(self, x):
        y = self.conv(nn.functional.pad(x, (self.pad, 0)))
        return torch.relu(y) + self.skip(x)


class TCN(nn.Module):
    def __init__(self, cin=2, width=12):
        super().__init__()
        self.blocks = nn.Sequential(TCNBlock(cin, width, 1), TCNBlock(width, width, 2), TCNBlock(width, width, 4))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.blocks(x.transpose(1, 2))
        return self.out(h[:, :, -1]).squeeze(-1)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(RiverLevels(), batch_size=64, shuffle=True)
    model = TCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.HuberLoss()
    for epoch in range(3):
        seen = 0.0
        for past, future in loader:
            loss = criterion(model(past), future)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += loss.item()
        print("epoch", epoch, "loss", seen / len(loader))
