"""Stateful LSTM over a long valve-pressure recording, read chunk by chunk (truncated BPTT)."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn


@dataclass
class Config:
    batch: int = 8
    chunk: int = 25
    hidden: int = 20
    layers: int = 2
    lr: float = 5e-3
    epochs: int = 2


def record(n=2008):
    rng = np.random.default_rng(0)
    t = np.linspace(0, 60, n)
    p = np.sin(t) + 0.4 * np.sin(3.3 * t + 1) + 0.05 * rng.standard_normal(n)
    return torch.tensor(p, dtype=torch.float32)


def batchify(series, batch):
    n = len(series) // batch
    return series[:n * batch].view(batch, n).unsqueeze(-1)


class NextPressure(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.lstm = nn.LSTM(1, cfg.hidden, cfg.layers, batch_first=True)
        self.head = nn.Linear(cfg.hidden, 1)

    def init_state(self, batch):
        shape = (self.cfg.layers, batch, self.cfg.hidden)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, x, state):
        out, state = self.lstm(x, state)
        return self.head(out), state


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = NextPressure(cfg)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.loss_fn = nn.SmoothL1Loss()

    def chunks(self, data):
        for s in range(0, data.size(1) - 1, self.cfg.chunk):
            e = min(s + self.cfg.chunk, data.size(1) - 1)
            yield data[:, s:e], data[:, s + 1:e + 1]

    def fit(self, data):
        for epoch in range(self.cfg.epochs):
            state = self.model.init_state(data.size(0))
            total, steps = 0.0, 0
            for x, y in self.chunks(data):
                self.opt.zero_grad()
                pred, state = self.model(x, state)
                loss = self.loss_fn(pred, y)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                total += loss.item()
                steps += 1
            print(f"epoch {epoch}: {total / steps:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    cfg = Config()
    Runner(cfg).fit(batchify(record(), cfg.batch))
