import os
import shutil
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from torch import nn, Tensor
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    n_features: int = 20
    hidden: int = 48
    epochs: int = 4
    batch_size: int = 64
    lr: float = 1e-3
    ckpt_dir: str = "runs/credit"
    resume: Optional[str] = None


class CreditScorer(nn.Module):
    def __init__(self, cfg: Config) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(cfg.n_features, cfg.hidden),
            nn.LayerNorm(cfg.hidden),
            nn.GELU(),
            nn.Linear(cfg.hidden, cfg.hidden),
            nn.GELU(),
        )
        self.score = nn.Linear(cfg.hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.score(self.body(x)).squeeze(-1)


class Trainer:
    def __init__(self, cfg: Config, model: nn.Module, loader: DataLoader) -> None:
        self.cfg = cfg
        self.model = model
        self.loader = loader
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        self.criterion = nn.BCEWithLogitsLoss()
        self.start_epoch = 0
        os.makedirs(cfg.ckpt_dir, exist_ok=True)
        if cfg.resume:
            self.restore(cfg.resume)

    def _path(self, what: str) -> str:
        return os.path.join(self.cfg.ckpt_dir, what + ".pt")

    def save(self, epoch: int) -> None:
        torch.save(self.model.state_dict(), self._path("model"))
        torch.save({"optimizer": self.optimizer.state_dict(), "epoch": epoch}, self._path("trainer"))

    def restore(self, folder: str) -> None:
        self.model.load_state_dict(os.path.join(folder, "model.pt"))
        state = torch.load(os.path.join(folder, "trainer.pt"))
        self.optimizer.load_state_dict(state["optimizer"])
        self.start_epoch = state["epoch"] + 1
        print(f"resumed at epoch {self.start_epoch}")

    def fit(self) -> None:
        for epoch in range(self.start_epoch, self.cfg.epochs):
            self.model.train()
            losses = []
            for x, y in self.loader:
                self.optimizer.zero_grad(set_to_none=True)
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item() * len(y))
            print(f"epoch {epoch}: loss {sum(losses) / len(self.loader.dataset):.4f}")
            self.save(epoch)


def credit_loader(cfg: Config) -> DataLoader:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1000, cfg.n_features)).astype("float32")
    w = rng.standard_normal(cfg.n_features)
    y = (x @ w + rng.standard_normal(1000) > 0).astype("float32")
    return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)),
                      batch_size=cfg.batch_size, shuffle=True)


if __name__ == "__main__":
    torch.manual_seed(3)
    # first job: killed by the queue after 4 epochs
    cfg = Config()
    Trainer(cfg, CreditScorer(cfg), credit_loader(cfg)).fit()

    # second job: goes on up to epoch 8
    cfg = Config(epochs=8, resume="runs/credit")
    Trainer(cfg, CreditScorer(cfg), credit_loader(cfg)).fit()
    shutil.rmtree("runs")
