# line 24: the series to be restored is an alias of the one whose hidden stretches are set to zero
import math

import torch
import torch.nn as nn


class Imputer(nn.Module):
    def __init__(self, channels=3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(channels + 1, 32, 7, padding=3), nn.GELU(), nn.Conv1d(32, 32, 7, padding=3), nn.GELU(), nn.Conv1d(32, channels, 1)
        )

    def forward(self, visible, hidden):
        return self.net(torch.cat([visible, hidden.float().unsqueeze(1)], dim=1))


def hide_stretches(series, width=6):
    n, _, length = series.shape
    start = torch.randint(0, length - width, (n, 1))
    where = torch.arange(length)
    hidden = (where >= start) & (where < start + width)
    visible = series.clone()
    visible.mul_(~hidden.unsqueeze(1))
    return visible, hidden


def ecg_like(n, length=48):
    phase = 2 * math.pi * torch.rand(n, 3, 1)
    rate = torch.randint(1, 4, (n, 1, 1))
    t = torch.linspace(0, 2 * math.pi, length)
    return torch.sin(rate * t + phase) + 1.0 + 0.05 * torch.randn(n, 3, length)


torch.manual_seed(4)
model = Imputer()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    series = ecg_like(32)
    visible, hidden = hide_stretches(series)
    restored = model(visible, hidden)
    error = (restored - series).square().mean(dim=1)
    loss = (error * hidden).sum() / hidden.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step + 1, "restoration error", loss.item())
