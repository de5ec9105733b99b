import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    epochs: int = 3
    micro_batch: int = 16
    accumulate: int = 4
    lr: float = 3e-3
    max_norm: float = 1.0
    seed: int = 0


class ResidualMLP(nn.Module):
    def __init__(self, dim, depth=3, out=1):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
                                    for _ in range(depth))
        self.out = nn.Linear(dim, out)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        x = torch.randn(630, 32)
        y = torch.sin(x[:, :4].sum(1, keepdim=True)) + 0.1 * torch.randn(630, 1)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=cfg.micro_batch, shuffle=True)
        self.model = ResidualMLP(32).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler(self.device)
        self.criterion = nn.MSELoss()

    def clip(self):
        self.scaler.unscale_(self.optimizer)
        return nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)

    def train_epoch(self, epoch):
        self.model.train()
        total, norm = 0.0, torch.tensor(0.0)
        self.optimizer.zero_grad(set_to_none=True)
        last = len(self.loader)
        for i, (x, y) in enumerate(self.loader, start=1):
            x, y = x.to(self.device), y.to(self.device)
            with torch.autocast(self.device, dtype=torch.bfloat16):
                pred = self.model(x)
                loss = self.criterion(pred.float(), y) / self.cfg.accumulate
            self.scaler.scale(loss).backward()
            norm = self.clip()
            if i % self.cfg.accumulate == 0 or i == last:
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad(set_to_none=True)
            total += loss.item() * self.cfg.accumulate * len(x)
        return total / len(self.loader.dataset), float(norm)

    def fit(self):
        for epoch in range(self.cfg.epochs):
            start = time.perf_counter()
            loss, norm = self.train_epoch(epoch)
            took = time.perf_counter() - start
            print(f"epoch {epoch} mse {loss:.4f} last norm {norm:.3f}")
            assert took < 600


if __name__ == "__main__":
    Trainer(TrainConfig()).fit()
