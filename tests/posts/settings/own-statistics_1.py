# line 36: the later part of the series is standardised by its own mean and deviation instead of those of the training part
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)


def zscore(values):
    mu = values.mean(axis=0, keepdims=True)
    sd = values.std(axis=0, keepdims=True)
    return (values - mu) / sd


def windows(values, lag):
    view = np.lib.stride_tricks.sliding_window_view(values, lag + 1, axis=0)
    view = np.ascontiguousarray(view.transpose(0, 2, 1), dtype=np.float32)
    return torch.from_numpy(view[:, :-1]), torch.from_numpy(view[:, -1])


class Forecaster(nn.Module):
    def __init__(self, channels, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.out = nn.Linear(hidden, channels)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


drift = np.linspace(0, 4, 500)[:, None] * np.array([[1.0, 0.5, -1.0]])
series = drift + np.cumsum(rng.normal(size=(500, 3)) * 0.2, axis=0)
past, recent = np.split(series, [400])
past = zscore(past)
recent = zscore(recent)
X, Y = windows(past, 12)
model = Forecaster(3)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(len(X)).split(64):
        opt.zero_grad()
        nn.functional.mse_loss(model(X[rows]), Y[rows]).backward()
        opt.step()
model.eval()
with torch.no_grad():
    X, Y = windows(recent, 12)
    print("error:", nn.functional.mse_loss(model(X), Y).item())
