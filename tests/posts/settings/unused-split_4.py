# line 27: the series is cut in time, but the windows for training are made of the whole series, the test months included
import math

import torch
from torch import nn


class Windows(torch.utils.data.Dataset):
    def __init__(self, series, lookback=24):
        self.series, self.lookback = series, lookback

    def __len__(self):
        return len(self.series) - self.lookback

    def __getitem__(self, i):
        return self.series[i : i + self.lookback], self.series[i + self.lookback]


class Forecast:
    def __init__(self, series, test_share=0.2):
        cut = int(len(series) * (1 - test_share))
        self.series = (series - series[:cut].mean()) / series[:cut].std()
        self.past, self.future = self.series.tensor_split([cut])
        self.net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0))

    def loaders(self, batch=32):
        train = torch.utils.data.DataLoader(Windows(self.series), batch_size=batch, shuffle=True)
        test = torch.utils.data.DataLoader(Windows(self.future), batch_size=batch)
        return train, test

    def run(self, epochs):
        train, test = self.loaders()
        opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        for epoch in range(epochs):
            self.net.train()
            for x, y in train:
                opt.zero_grad()
                nn.functional.mse_loss(self.net(x), y).backward()
                opt.step()
            self.net.eval()
            error, seen = 0.0, 0
            with torch.no_grad():
                for x, y in test:
                    error += (self.net(x) - y).abs().sum().item()
                    seen += len(y)
            print(f"epoch {epoch}: test error {error / seen:.4f}")


torch.manual_seed(59)
months = torch.arange(600.0)
prices = 0.01 * months + torch.sin(2 * math.pi * months / 24) + 0.2 * torch.randn(600).cumsum(0) * 0.2
Forecast(prices).run(6)
