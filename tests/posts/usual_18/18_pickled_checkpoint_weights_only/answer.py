"""Training with resume: checkpoint after each epoch, go on from it after a restart."""
import dataclasses
import pathlib
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_regression
from torch.utils.data import DataLoader, TensorDataset


@dataclasses.dataclass
class TrainConfig:
    hidden: int = 32
    lr: float = 1e-2
    batch_size: int = 50
    epochs: int = 4
    seed: int = 0


class PriceNet(nn.Module):
    def __init__(self, d_in, cfg):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_in, cfg.hidden), nn.SiLU(), nn.Linear(cfg.hidden, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class Job:
    def __init__(self, cfg, workdir):
        self.cfg = cfg
        self.path = pathlib.Path(workdir) / "last.ckpt"
        torch.manual_seed(cfg.seed)
        x, y = make_regression(400, 12, noise=2.0, random_state=cfg.seed)
        y = (y - y.mean()) / y.std()
        self.data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
        self.model = PriceNet(x.shape[1], cfg)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.sched = torch.optim.lr_scheduler.ExponentialLR(self.opt, gamma=0.9)
        self.epoch = 0
        self.best = float("inf")

    def save(self):
        torch.save({
            "config": dataclasses.asdict(self.cfg),
            "epoch": self.epoch,
            "best": self.best,
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "sched": self.sched.state_dict(),
        }, self.path)

    def resume(self):
        if not self.path.exists():
            return
        ckpt = torch.load(self.path, map_location="cpu")
        if ckpt["config"]["hidden"] != self.cfg.hidden:
            raise SystemExit("checkpoint of another network")
        self.model.load_state_dict(ckpt["model"])
        self.opt.load_state_dict(ckpt["opt"])
        self.sched.load_state_dict(ckpt["sched"])
        self.epoch, self.best = ckpt["epoch"], ckpt["best"]
        print(f"resumed at epoch {self.epoch}")

    def run(self, until):
        self.resume()
        loader = DataLoader(self.data, batch_size=self.cfg.batch_size, shuffle=True)
        while self.epoch < until:
            total = 0.0
            for x, y in loader:
                loss = F.mse_loss(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total += loss.item()
            self.sched.step()
            self.epoch += 1
            self.best = min(self.best, total / len(loader))
            self.save()
            print(f"epoch {self.epoch} mse {total / len(loader):.4f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as workdir:
        Job(TrainConfig(), workdir).run(until=2)
        Job(TrainConfig(), workdir).run(until=4)
