# line 13: the weight q belongs to the part where the target is above, but it multiplies the part where the prediction is above
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(25)


def quantile_objective(output, value, q):
    over = F.relu(output - value)
    under = F.relu(value - output)
    return torch.mean(q * over + (1.0 - q) * under)


class TwoHeads(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv1d(channels, 12, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten()
        )
        self.low, self.high = nn.Linear(48, 1), nn.Linear(48, 1)

    def forward(self, window):
        h = self.trunk(window)
        return self.low(h).squeeze(-1), self.high(h).squeeze(-1)


windows = torch.randn(480, 2, 24)
load = windows[:, 0].mean(-1) * 3 + 0.5 * torch.randn(480)
train = DataLoader(TensorDataset(windows[:400], load[:400]), batch_size=40, shuffle=True)
net = TwoHeads(2)
adam = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    net.train()
    for window, value in train:
        low, high = net(window)
        loss = quantile_objective(low, value, 0.05) + quantile_objective(high, value, 0.95)
        adam.zero_grad()
        loss.backward()
        adam.step()
    net.eval()
    with torch.no_grad():
        low, high = net(windows[400:])
    print(epoch, "mean width of the interval", (high - low).mean().item())
