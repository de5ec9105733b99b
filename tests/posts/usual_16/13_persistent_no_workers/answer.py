"""Delivery-time regression, training job driven by a config."""
import math
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "seed": 13,
    "epochs": 3,
    "optim": {"lr": 2e-3, "weight_decay": 1e-4},
    "data": {
        "train": {"size": 2000, "batch_size": 128, "shuffle": True, "num_workers": 2},
        "val": {"size": 400, "batch_size": 400, "shuffle": False, "num_workers": 0},
    },
    "model": {"n_depots": 12, "emb": 6, "hidden": 64, "dropout": 0.1},
}


class Deliveries(Dataset):
    def __init__(self, size, seed):
        g = np.random.default_rng(seed)
        self.depot = g.integers(0, CONFIG["model"]["n_depots"], size)
        self.distance = g.gamma(2.0, 3.0, size)
        self.hour = g.integers(6, 22, size)
        self.parcels = g.integers(1, 60, size)
        rush = np.exp(-((self.hour - 17) ** 2) / 8)
        self.minutes = 5 + 2.2 * self.distance * (1 + 0.6 * rush) + 1.4 * self.parcels + 0.8 * self.depot
        self.minutes = self.minutes + g.normal(0, 3, size)

    def __len__(self):
        return len(self.minutes)

    def __getitem__(self, i):
        angle = 2 * math.pi * self.hour[i] / 24
        numeric = torch.tensor(
            [self.distance[i] / 10, self.parcels[i] / 60, math.sin(angle), math.cos(angle)],
            dtype=torch.float32,
        )
        return int(self.depot[i]), numeric, torch.tensor(self.minutes[i] / 60, dtype=torch.float32)


class EtaModel(nn.Module):
    def __init__(self, n_depots, emb, hidden, dropout):
        super().__init__()
        self.depot = nn.Embedding(n_depots, emb)
        self.mlp = nn.Sequential(
            nn.Linear(emb + 4, hidden), nn.SiLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, depot, numeric):
        return self.mlp(torch.cat([self.depot(depot), numeric], dim=1)).squeeze(1)


def seed_worker(worker_id):
    s = torch.initial_seed() % 2**32
    np.random.seed(s)
    random.seed(s)


def build_loader(dataset, batch_size, shuffle, num_workers):
    return DataLoader(
        dataset,
        batch_size=batch_size,
        shuffle=shuffle,
        num_workers=num_workers,
        worker_init_fn=seed_worker,
        pin_memory=torch.cuda.is_available(),
        persistent_workers=num_workers > 0,
    )


def main(cfg):
    torch.manual_seed(cfg["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tr, va = dict(cfg["data"]["train"]), dict(cfg["data"]["val"])
    train_loader = build_loader(Deliveries(tr.pop("size"), 0), **tr)
    val_loader = build_loader(Deliveries(va.pop("size"), 1), **va)

    model = EtaModel(**cfg["model"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), **cfg["optim"])
    criterion = nn.SmoothL1Loss(beta=0.2)

    for epoch in range(cfg["epochs"]):
        model.train()
        for depot, numeric, minutes in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(depot.to(device), numeric.to(device)), minutes.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        abs_err = 0.0
        with torch.no_grad():
            for depot, numeric, minutes in val_loader:
                pred = model(depot.to(device), numeric.to(device)).cpu()
                abs_err += (pred - minutes).abs().sum().item()
        print(f"epoch {epoch}: train loss {loss.item():.4f}, val MAE {60 * abs_err / len(val_loader.dataset):.2f} min")


if __name__ == "__main__":
    main(CONFIG)
