import csv
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

folder = tempfile.mkdtemp()
path = os.path.join(folder, "concrete.csv")
COLUMNS = ["cement", "slag", "ash", "water", "plasticizer", "coarse", "fine", "age"]

rng = np.random.default_rng(1)
with open(path, "w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(COLUMNS + ["strength"])
    for row in rng.random((103, 8)):
        writer.writerow([f"{v:.4f}" for v in row] + [f"{row @ np.arange(8):.4f}"])


class ConcreteDataset(Dataset):
    def __init__(self, path):
        with open(path) as f:
            rows = list(csv.DictReader(f))
        self.x = torch.tensor([[float(r[c]) for c in COLUMNS] for r in rows])
        self.y = torch.tensor([float(r["strength"]) for r in rows])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(8, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
loader = DataLoader(ConcreteDataset(path), batch_size=20, shuffle=True)
mlp = Regressor()
loss_function = nn.MSELoss()
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)

for epoch in range(3):
    current_loss = 0.0
    for i, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        outputs = mlp(inputs)
        loss = loss_function(outputs, targets)
        loss.backward()
        optimizer.step()
        current_loss += loss.item()
    print("epoch %d: loss %.4f" % (epoch + 1, current_loss / len(loader)))

print("done")
