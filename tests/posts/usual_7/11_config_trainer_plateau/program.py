"""python train.py -- everything is set in CONFIG (was a yaml file before)."""
import json
import random

import numpy as np
import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset

CONFIG = json.loads("""
{
  "seed": 1234,
  "model": {"name": "tcn", "args": {"channels": [16, 32, 32], "kernel_size": 3, "dropout": 0.1}},
  "data": {"length": 60, "n_train": 600, "n_val": 150, "batch_size": 50},
  "optimizer": {"name": "AdamW", "args": {"lr": 0.003, "weight_decay": 0.01}},
  "scheduler": {"name": "ReduceLROnPlateau", "args": {"factor": 0.5, "patience": 1}},
  "epochs": 5
}
""")


class VibrationSet(Dataset):
    """Accelerometer snippets, target: wear of the bearing in [0, 1]."""

    def __init__(self, n, length, seed):
        rng = np.random.RandomState(seed)
        self.wear = rng.rand(n).astype(np.float32)
        t = np.arange(length) / length
        phase = rng.rand(n, 1) * 2 * np.pi
        sig = np.sin(2 * np.pi * 6 * t + phase) + self.wear[:, None] * np.sin(2 * np.pi * 17 * t + phase)
        self.x = (sig + 0.1 * rng.randn(n, length)).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]).unsqueeze(0), torch.tensor(self.wear[i])


class TCNBlock(nn.Module):
    def __init__(self, c_in, c_out, k, dilation, dropout):
        super().__init__()
        self.pad = (k - 1) * dilation
        self.conv = nn.Conv1d(c_in, c_out, k, dilation=dilation)
        self.drop = nn.Dropout(dropout)
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x):
        y = self.conv(nn.functional.pad(x, (self.pad, 0)))
        return self.skip(x) + self.drop(torch.relu(y))


class TCN(nn.Module):
    def __init__(self, channels, kernel_size, dropout):
        super().__init__()
        dims = [1] + channels
        self.blocks = nn.Sequential(*[
            TCNBlock(a, b, kernel_size, 2 ** i, dropout) for i, (a, b) in enumerate(zip(dims, dims[1:]))
        ])
        self.out = nn.Linear(dims[-1], 1)

    def forward(self, x):
        return self.out(self.blocks(x).abs().mean(dim=2)).squeeze(1)


MODELS = {"tcn": TCN}


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        random.seed(cfg["seed"]), np.random.seed(cfg["seed"]), torch.manual_seed(cfg["seed"])
        d = cfg["data"]
        self.train_dl = DataLoader(VibrationSet(d["n_train"], d["length"], 0), d["batch_size"], shuffle=True)
        self.val_dl = DataLoader(VibrationSet(d["n_val"], d["length"], 1), d["batch_size"])
        self.model = MODELS[cfg["model"]["name"]](**cfg["model"]["args"])
        self.optimizer = getattr(torch.optim, cfg["optimizer"]["name"])(
            self.model.parameters(), **cfg["optimizer"]["args"])
        self.scheduler = getattr(lr_scheduler, cfg["scheduler"]["name"])(self.optimizer, **cfg["scheduler"]["args"])
        self.criterion = nn.SmoothL1Loss()

    def run_epoch(self, loader, train):
        self.model.train(train)
        total = 0.0
        with torch.set_grad_enabled(train):
            for x, y in loader:
                loss = self.criterion(self.model(x), y)
                if train:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                total += loss.item() * len(x)
        return total / len(loader.dataset)

    def run(self):
        for epoch in range(self.cfg["epochs"]):
            tr = self.run_epoch(self.train_dl, True)
            va = self.run_epoch(self.val_dl, False)
            self.scheduler.step()
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"{epoch:02d} train {tr:.5f} val {va:.5f} lr {lr:.1e}")


if __name__ == "__main__":
    Experiment(CONFIG).run()
