from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    past: int = 48
    future: int = 12
    features: list = field(default_factory=lambda: ["power", "cloud", "sin_hour", "cos_hour"])
    hidden: int = 48
    batch_size: int = 32
    epochs: int = 4
    lr: float = 3e-3


def simulate_plant(days, seed):
    rng = np.random.default_rng(seed)
    hour = np.arange(days * 24) % 24
    cloud = np.clip(np.convolve(rng.random(days * 24), np.ones(6) / 6, mode="same"), 0, 1)
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
    power = sun * (1 - 0.7 * cloud) + 0.02 * rng.standard_normal(days * 24)
    angle = 2 * np.pi * hour / 24
    return np.stack([power, cloud, np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


class SolarWindows(Dataset):
    def __init__(self, table, cfg):
        self.table = torch.from_numpy(table)
        self.cfg = cfg

    def __len__(self):
        return len(self.table) - self.cfg.past - self.cfg.future + 1

    def __getitem__(self, i):
        middle = i + self.cfg.past
        return self.table[i:middle], self.table[middle:middle + self.cfg.future, 0]


class Encoder(nn.Module):
    def __init__(self, n_features, hidden):
        self.gru = nn.GRU(n_features, hidden, batch_first=True, bidirectional=True)

    def forward(self, x):
        outputs, state = self.gru(x)
        return outputs, state


class Decoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, last, state, steps):
        predictions = []
        value = last
        for _ in range(steps):
            output, state = self.gru(value, state)
            value = self.out(output)
            predictions.append(value)
        return torch.cat(predictions, dim=1).squeeze(-1)


class SolarForecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.encoder = Encoder(len(cfg.features), cfg.hidden)
        self.decoder = Decoder(cfg.hidden)

    def forward(self, past):
        _, state = self.encoder(past)
        return self.decoder(past[:, -1:, :1], state, self.cfg.future)


class Trainer:
    def __init__(self, model, cfg, train_ds, val_ds):
        self.model = model
        self.cfg = cfg
        self.train_loader = DataLoader(train_ds, cfg.batch_size, shuffle=True)
        self.val_loader = DataLoader(val_ds, cfg.batch_size)
        self.loss_fn = nn.L1Loss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)

    def fit(self):
        for epoch in range(1, self.cfg.epochs + 1):
            self.model.train()
            for past, future in self.train_loader:
                loss = self.loss_fn(self.model(past), future)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch}: validation error {self.validate():.4f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        errors = [self.loss_fn(self.model(p), f).item() * len(p) for p, f in self.val_loader]
        return sum(errors) / len(self.val_loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(3)
    cfg = Config()
    train_ds = SolarWindows(simulate_plant(60, seed=1), cfg)
    val_ds = SolarWindows(simulate_plant(15, seed=2), cfg)
    Trainer(SolarForecaster(cfg), cfg, train_ds, val_ds).fit()
