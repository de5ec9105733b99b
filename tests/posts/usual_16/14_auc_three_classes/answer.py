from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    n_samples: int = 1500
    n_markers: int = 20
    n_stages: int = 3
    hidden: int = 48
    batch_size: int = 64
    epochs: int = 5
    lr: float = 1e-3


def synthetic_cohort(cfg: Config, seed: int = 0):
    """blood markers of patients in fibrosis stage F0-1, F2, F3-4"""
    rng = np.random.default_rng(seed)
    stage = rng.choice(cfg.n_stages, cfg.n_samples, p=[0.6, 0.25, 0.15])
    direction = rng.normal(size=cfg.n_markers)
    x = rng.normal(size=(cfg.n_samples, cfg.n_markers)) + 0.35 * stage[:, None] * direction
    missing = rng.random(x.shape) < 0.05
    x[missing] = 0.0
    return torch.tensor(x, dtype=torch.float32), torch.tensor(stage)


class StageNet(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(cfg.n_markers, cfg.hidden), nn.LayerNorm(cfg.hidden), nn.GELU(), nn.Dropout(0.2),
            nn.Linear(cfg.hidden, cfg.hidden), nn.GELU(),
        )
        self.head = nn.Linear(cfg.hidden, cfg.n_stages)

    def forward(self, x):
        return self.head(self.body(x))


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.probs, self.labels = [], []

    def update(self, logits, labels):
        self.probs.append(F.softmax(logits, dim=1).cpu())
        self.labels.append(labels.cpu())

    def compute(self):
        probs = torch.cat(self.probs).numpy()
        labels = torch.cat(self.labels).numpy()
        auc = roc_auc_score(labels, probs, multi_class="ovr")
        bal = balanced_accuracy_score(labels, probs.argmax(axis=1))
        return {"auc": auc, "balanced_acc": bal}


def run(cfg: Config):
    torch.manual_seed(0)
    x, y = synthetic_cohort(cfg)
    split = int(0.8 * len(x))
    train_loader = DataLoader(TensorDataset(x[:split], y[:split]), cfg.batch_size, shuffle=True)
    valid_loader = DataLoader(TensorDataset(x[split:], y[split:]), cfg.batch_size)

    counts = torch.bincount(y[:split], minlength=cfg.n_stages).float()
    criterion = nn.CrossEntropyLoss(weight=counts.sum() / (cfg.n_stages * counts))
    model = StageNet(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    meter = Meter()

    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()

        model.eval()
        meter.reset()
        with torch.no_grad():
            for xb, yb in valid_loader:
                meter.update(model(xb), yb)
        scores = meter.compute()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f} " + " ".join(f"{k} {v:.3f}" for k, v in scores.items()))


if __name__ == "__main__":
    run(Config())
