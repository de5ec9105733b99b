import logging
from typing import Dict

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("defects")

CFG: Dict = {
    "data": {"n_train": 800, "n_val": 300, "defect_rate": 0.06},
    "loader": {"batch_size": 32, "num_workers": 0, "shuffle": True},
    "optim": {"lr": 2e-3, "epochs": 4},
    "balance": True,
}


class WeldSignals(Dataset):
    """Current curve of a spot weld, 100 points; 1 = defective."""

    def __init__(self, n, defect_rate, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = (torch.rand(n, generator=g) < defect_rate).long()
        t = torch.linspace(0, 1, 100)
        curve = 1 - torch.exp(-6 * t)
        dip = torch.exp(-((t - 0.6) ** 2) / 0.003)
        depth = 0.4 + 0.3 * torch.rand(n, 1, generator=g)
        self.x = curve + 0.15 * torch.randn(n, 100, generator=g) - self.labels[:, None] * depth * dip

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.x[i], self.labels[i]


def balanced_sampler(labels):
    counts = torch.bincount(labels, minlength=2)
    weights = 1.0 / counts.float()
    return WeightedRandomSampler(weights[labels], num_samples=len(labels), replacement=True)


def make_loaders(cfg):
    d = cfg["data"]
    train = WeldSignals(d["n_train"], d["defect_rate"], seed=1)
    val = WeldSignals(d["n_val"], d["defect_rate"], seed=2)
    train_kwargs = dict(cfg["loader"])
    if cfg["balance"]:
        train_kwargs["sampler"] = balanced_sampler(train.labels)
        train_kwargs["shuffle"] = False
    val_kwargs = dict(cfg["loader"], shuffle=False)
    return DataLoader(train, **train_kwargs), DataLoader(val, **val_kwargs)


def build_model():
    return nn.Sequential(
        nn.Unflatten(1, (1, 100)),
        nn.Conv1d(1, 8, 7, padding=3), nn.ReLU(), nn.MaxPool1d(4),
        nn.Conv1d(8, 16, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(1),
        nn.Flatten(), nn.Linear(16, 2),
    )


@torch.no_grad()
def recall_precision(model, loader):
    model.eval()
    tp = fp = fn = 0
    for x, y in loader:
        pred = model(x).argmax(1)
        tp += ((pred == 1) & (y == 1)).sum().item()
        fp += ((pred == 1) & (y == 0)).sum().item()
        fn += ((pred == 0) & (y == 1)).sum().item()
    return tp / max(tp + fn, 1), tp / max(tp + fp, 1)


def run(cfg):
    torch.manual_seed(0)
    train_loader, val_loader = make_loaders(cfg)
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["optim"]["lr"])
    criterion = nn.CrossEntropyLoss()
    for epoch in range(cfg["optim"]["epochs"]):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        r, p = recall_precision(model, val_loader)
        log.info("epoch %d recall %.3f precision %.3f", epoch, r, p)


if __name__ == "__main__":
    run(CFG)
