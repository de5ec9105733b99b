# line 34: the quantiles of the forecast paths are taken from equal passes, as the scores come from a net with its dropout switched off
import numpy as np
import torch
import torch.nn as nn


class WindPower(nn.Module):
    def __init__(self, lags=10, horizon=4):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 3)
        self.drop = nn.Dropout1d(0.25)
        self.out = nn.Linear(16 * (lags - 2), horizon)

    def forward(self, x):
        h = self.drop(torch.relu(self.conv(x.unsqueeze(1))))
        return self.out(h.flatten(1))


def train(net, x, y, epochs=5):
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    net.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            nn.functional.mse_loss(net(x[rows]), y[rows]).backward()
            opt.step()
    return net.eval()


def fan_chart(net, x, passes=25, levels=(0.05, 0.5, 0.95)):
    paths = []
    net.drop.train()
    with torch.no_grad():
        for _ in range(passes):
            paths.append(net(x).numpy())
    return np.quantile(np.stack(paths), levels, axis=0)


rng = np.random.default_rng(30)
power = np.cumsum(rng.normal(0, 0.1, 500)) + np.sin(np.arange(500) / 9)
power = ((power - power[:400].mean()) / power[:400].std()).astype(np.float32)
frames = np.lib.stride_tricks.sliding_window_view(power, 14).copy()
x, y = torch.from_numpy(frames[:, :10]), torch.from_numpy(frames[:, 10:])
torch.manual_seed(30)
net = train(WindPower(), x[:400], y[:400])
low, middle, high = fan_chart(net, x[400:])
inside = np.mean((y[400:].numpy() >= low) & (y[400:].numpy() <= high))
print(f"width of the 90% fan {np.mean(high - low):.3f}, values inside {inside:.2f}")
