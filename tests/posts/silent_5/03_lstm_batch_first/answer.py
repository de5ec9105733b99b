import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class Windows(Dataset):
    def __init__(self, series, length):
        self.series = torch.tensor(series, dtype=torch.float32)
        self.length = length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        window = self.series[i:i + self.length].unsqueeze(-1)
        return window, self.series[i + self.length]


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1]).squeeze(-1)


rng = np.random.default_rng(3)
t = np.arange(1500)
series = np.sin(2 * np.pi * t / 25) + 0.5 * np.sin(2 * np.pi * t / 10) + 0.05 * rng.standard_normal(1500)
train_loader = DataLoader(Windows(series[:1200], 30), batch_size=32, shuffle=True)
test_loader = DataLoader(Windows(series[1200:], 30), batch_size=32)
net = Forecaster()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()
for epoch in range(15):
    net.train()
    for window, target in train_loader:
        optim.zero_grad()
        loss = mse(net(window), target)
        loss.backward()
        optim.step()
    net.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for window, target in test_loader:
            total += mse(net(window), target).item() * len(target)
            n += len(target)
    print(f"epoch {epoch}: test mse {total / n:.4f}")
