"""Next-day temperature from the last ten days, with a stateful LSTM."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Config:
    window = 10
    hidden = 20
    layers = 2
    batch_size = 16
    epochs = 2
    lr = 5e-3


def temperatures(days=80, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(days)
    return (10 + 8 * np.sin(2 * np.pi * t / 365) + rng.normal(0, 2, days)).astype("float32")


def windows(series, length):
    xs = np.stack([series[i:i + length] for i in range(len(series) - length)])
    ys = series[length:]
    return torch.from_numpy(xs)[:, :, None], torch.from_numpy(ys)[:, None]


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.lstm = nn.LSTM(1, cfg.hidden, cfg.layers, batch_first=True)
        self.out = nn.Linear(cfg.hidden, 1)

    def init_state(self, batch_size):
        shape = (self.cfg.layers, batch_size, self.cfg.hidden)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, x, state):
        y, state = self.lstm(x, state)
        return self.out(y[:, -1]), state


def train(cfg):
    torch.manual_seed(0)
    series = temperatures()
    series = (series - series.mean()) / series.std()
    dataset = TensorDataset(*windows(series, cfg.window))
    loader = DataLoader(dataset, batch_size=cfg.batch_size)
    model = Forecaster(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    criterion = nn.MSELoss()

    for epoch in range(cfg.epochs):
        state = model.init_state(cfg.batch_size)
        losses = []
        for x, y in loader:
            state = tuple(s.detach() for s in state)
            prediction, state = model(x, state)
            loss = criterion(prediction, y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {np.mean(losses):.4f}")
    return model


if __name__ == "__main__":
    model = train(Config)
    torch.save(model.state_dict(), "forecaster.pt")
