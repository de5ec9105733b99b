"""Forecasts a series from its last 24 values, as N-BEATS does."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, lookback, horizon, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(lookback, width), nn.ReLU())
        self.backcast = nn.Linear(width, lookback)
        self.forecast = nn.Linear(width, horizon)

    def forward(self, x):
        h = self.body(x)
        return self.backcast(h), self.forecast(h)


class Forecaster(nn.Module):
    def __init__(self, lookback=24, horizon=6, width=16, blocks=2):
        super().__init__()
        self.lookback = lookback
        self.blocks = nn.ModuleList(
            Block(lookback, horizon, width) for _ in range(blocks)
        )

    def forward(self, series):
        window = series[:, -self.lookback :]
        level = window[:, -1:]
        residual, total = window - level, level
        for block in self.blocks:
            backcast, forecast = block(residual)
            residual = residual - backcast
            total = total + forecast
        return torch.cat([series, total], dim=1)
