import csv
import os
import random
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Settings:
    csv_path: str = "rents.csv"
    batch_size: int = 32
    epochs: int = 8
    lr: float = 5e-3


def write_rents(path, n=350):
    rnd = random.Random(0)
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["size", "floor", "district", "rent"])
        for _ in range(n):
            size, floor, district = rnd.uniform(20, 120), rnd.randint(0, 6), rnd.randint(0, 4)
            rent = 9 * size + 12 * floor + 80 * district + rnd.gauss(0, 30)
            w.writerow([f"{size:.1f}", floor, district, f"{rent:.2f}"])


class Rents(Dataset):
    def __init__(self, path):
        with open(path, newline="") as f:
            rows = list(csv.DictReader(f))
        self.numeric = torch.tensor([[float(r["size"]) / 100, int(r["floor"]) / 6] for r in rows])
        self.district = torch.tensor([int(r["district"]) for r in rows])
        self.rent = torch.tensor([float(r["rent"]) / 1000 for r in rows])

    def __len__(self):
        return len(self.rent)

    def __getitem__(self, i):
        return self.numeric[i], self.district[i], self.rent[i]


class RentModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.district = nn.Embedding(5, 3)
        self.mlp = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numeric, district):
        return self.mlp(torch.cat([numeric, self.district(district)], dim=1))


def squared_error(pred, target):
    return ((pred - target) ** 2).mean()


def fit(settings, model, train_loader, val_loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
    for epoch in range(settings.epochs):
        model.train()
        for numeric, district, rent in train_loader:
            pred = model(numeric, district)
            loss = squared_error(pred, rent)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            absolute, n = 0.0, 0
            for numeric, district, rent in val_loader:
                pred = model(numeric, district).squeeze(1)
                absolute += (pred - rent).abs().sum().item()
                n += len(rent)
        print(f"epoch {epoch + 1}/{settings.epochs} train {loss.item():.4f} val mae {1000 * absolute / n:.1f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    settings = Settings()
    if not os.path.isfile(settings.csv_path):
        write_rents(settings.csv_path)
    data = Rents(settings.csv_path)
    train_set, val_set = torch.utils.data.random_split(data, [280, 70])
    fit(settings, RentModel(),
        DataLoader(train_set, settings.batch_size, shuffle=True),
        DataLoader(val_set, settings.batch_size))
