import numpy as np
import torch
import torch.nn as nn
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(5)
torch.manual_seed(5)


def sliding(series, length):
    xs, ys = [], []
    for i in range(len(series) - length):
        xs.append(series[i:i + length])
        ys.append(series[i + length, 0])
    return np.stack(xs), np.array(ys)


class Forecaster(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gru = nn.GRU(channels, 24, batch_first=True)
        self.fc = nn.Linear(24, 1)

    def forward(self, x):
        return self.fc(self.gru(x)[0][:, -1]).squeeze(1)


steps = np.arange(500)
series = np.stack([
    20 + 5 * np.sin(steps / 12) + rng.normal(0, 0.3, 500),
    1000 + 8 * np.cos(steps / 30) + rng.normal(0, 1.0, 500),
    rng.gamma(2.0, 1.0, 500),
], axis=1)

x, y = sliding(series, 24)
scaler = StandardScaler()
x = scaler.fit_transform(x.reshape(-1, x.shape[-1])).reshape(x.shape)
y = (y - y.mean()) / y.std()

x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
model = Forecaster(x.shape[-1])
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mse", loss.item())
