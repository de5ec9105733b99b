"""Resumable training job for demand forecasting; the job may be preempted at any time."""
import argparse
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--preempt-at", type=int, default=3)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--hist", type=int, default=28)
    p.add_argument("--horizon", type=int, default=7)
    p.add_argument("--workdir", default=tempfile.mkdtemp(prefix="forecast_"))
    return p.parse_args()


def demand_windows(hist, horizon, n_items=25, days=200):
    rng = np.random.default_rng(8)
    t = np.arange(days)
    level = rng.uniform(0.5, 2.0, (n_items, 1))
    week = 1 + 0.4 * np.sin(2 * np.pi * (t / 7 + rng.random((n_items, 1))))
    series = level * week * (1 + 0.002 * t) + rng.normal(0, 0.08, (n_items, days))
    xs, ys = [], []
    for row in series.astype("float32"):
        for s in range(0, days - hist - horizon, 3):
            xs.append(row[s:s + hist])
            ys.append(row[s + hist:s + hist + horizon])
    return torch.tensor(np.stack(xs)), torch.tensor(np.stack(ys))


class Forecaster(nn.Module):
    def __init__(self, hist, horizon, width=64):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(hist, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        scale = x.mean(dim=1, keepdim=True)
        return self.head(self.mlp(x / scale)) * scale


class Trainer:
    def __init__(self, args):
        self.args = args
        self.ckpt = os.path.join(args.workdir, "last.pt")
        x, y = demand_windows(args.hist, args.horizon)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
        self.model = Forecaster(args.hist, args.horizon)
        self.start_epoch, state = 0, None
        if os.path.exists(self.ckpt):
            state = torch.load(self.ckpt)
            self.model.load_state_dict(state["model"])
            self.start_epoch = state["epoch"] + 1
            print(f"resuming from epoch {self.start_epoch}")
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        if state is not None:
            self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler = CosineAnnealingLR(
            self.optimizer, T_max=args.epochs, last_epoch=self.start_epoch - 1
        )

    def save(self, epoch):
        torch.save(
            {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch},
            self.ckpt,
        )

    def run(self, stop_after=None):
        for epoch in range(self.start_epoch, self.args.epochs):
            total = 0.0
            for x, y in self.loader:
                loss = nn.functional.l1_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            self.scheduler.step()
            self.save(epoch)
            lr = self.scheduler.get_last_lr()[0]
            print(f"epoch {epoch} mae {total / len(self.loader):.4f} next lr {lr:.2e}")
            if stop_after is not None and epoch + 1 >= stop_after:
                return


if __name__ == "__main__":
    torch.manual_seed(0)
    args = parse()
    Trainer(args).run(stop_after=args.preempt_at)
    print("-- preempted, job restarted --")
    Trainer(args).run()
