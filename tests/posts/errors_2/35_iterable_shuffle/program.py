import csv
import os
import random
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

random.seed(0)
path = os.path.join(tempfile.mkdtemp(), "rides.csv")
with open(path, "w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(["distance", "hour", "fare"])
    for _ in range(1500):
        d, h = random.uniform(0.5, 20), random.randrange(24)
        writer.writerow([d, h, 3 + 1.8 * d + (2 if h > 20 else 0) + random.gauss(0, 0.5)])


class RideStream(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        with open(self.path) as f:
            for row in csv.DictReader(f):
                x = torch.tensor([float(row["distance"]) / 20, float(row["hour"]) / 24])
                y = torch.tensor([float(row["fare"])])
                yield x, y


train_loader = DataLoader(RideStream(path), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.L1Loss()

for epoch in range(4):
    total, n = 0.0, 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
        n += len(x)
    print(f"epoch {epoch} mae {total / n:.3f}")
