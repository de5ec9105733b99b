import math
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(7)
CKPT_DIR = tempfile.mkdtemp(prefix="pump_")
CKPT = os.path.join(CKPT_DIR, "last.pt")


class PumpMLP(nn.Module):
    def __init__(self, d_in=10, d_hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(d_in, d_hidden), nn.LayerNorm(d_hidden), nn.GELU(),
            nn.Linear(d_hidden, d_hidden), nn.LayerNorm(d_hidden), nn.GELU(),
        )
        self.out = nn.Linear(d_hidden, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.SmoothL1Loss()
        self.epoch = 0
        self.best = math.inf

    def save(self, path):
        torch.save({
            "epoch": self.epoch,
            "best": self.best,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }, path)

    def resume(self, path):
        checkpoint = torch.load(path, map_location="cpu")
        self.model.load_state_dict(checkpoint)
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.epoch = checkpoint["epoch"]
        self.best = checkpoint["best"]
        print(f"resumed at epoch {self.epoch} (best {self.best:.4f})")

    def fit(self, train, valid, until):
        x, y = train
        while self.epoch < until:
            self.model.train()
            for idx in torch.randperm(len(x)).split(64):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x[idx]), y[idx])
                loss.backward()
                self.optimizer.step()
            val = self.validate(valid)
            self.epoch += 1
            self.best = min(self.best, val)
            self.save(CKPT)
            print(f"epoch {self.epoch}: val {val:.4f}")

    @torch.no_grad()
    def validate(self, valid):
        self.model.eval()
        x, y = valid
        return self.criterion(self.model(x), y).item()


def pump_data(n):
    x = torch.randn(n, 10)
    y = x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2]) + 0.1 * torch.randn(n)
    return x, y


train_set, valid_set = pump_data(1500), pump_data(300)

# first job, killed by the cluster after 3 epochs
first = Trainer(PumpMLP())
first.fit(train_set, valid_set, until=3)

# second job
second = Trainer(PumpMLP())
if os.path.exists(CKPT):
    second.resume(CKPT)
second.fit(train_set, valid_set, until=6)
