# line 30: the measured temperatures are flattened column by column (order="F"), the predictions row by row
import numpy as np
import torch
from torch import nn

rs = np.random.RandomState(3)
DAYS, SENSORS, FEATS = 60, 7, 4
exog = rs.randn(DAYS, SENSORS, FEATS).astype(np.float32)
measured = (exog @ np.array([1.0, -0.5, 0.2, 0.0]) + np.linspace(-1, 1, SENSORS)).astype(np.float32)


class SensorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = nn.Parameter(torch.zeros(SENSORS))
        self.mlp = nn.Sequential(nn.Linear(FEATS, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.mlp(x).squeeze(-1) + self.offset


class Fitter:
    def __init__(self, net, rate=0.01):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=rate)
        self.criterion = nn.SmoothL1Loss()

    def prepare(self, days):
        x = torch.from_numpy(exog[days])
        y = torch.from_numpy(measured[days].ravel(order="C"))
        return x, y

    def epoch(self, days, batch=12):
        days = rs.permutation(days)
        total = 0.0
        for part in np.array_split(days, len(days) // batch):
            x, y = self.prepare(part)
            self.opt.zero_grad()
            loss = self.criterion(self.net(x).reshape(-1), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(part)
        return total / len(days)


torch.manual_seed(3)
fitter = Fitter(SensorNet())
for e in range(6):
    print("epoch", e, "loss", round(fitter.epoch(np.arange(DAYS)), 4))
