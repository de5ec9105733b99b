import io

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def make_csv(n=300):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({
        "tenure": rng.integers(0, 72, n),
        "monthly": rng.uniform(20, 120, n).round(2),
        "calls": rng.poisson(2, n),
        "contract": rng.integers(0, 3, n),
        "segment": rng.integers(0, 3, n),
    })
    return io.StringIO(frame.to_csv(index=False))


class ChurnDataset(Dataset):
    def __init__(self, csv_file):
        df = pd.read_csv(csv_file)
        features = df.drop(columns=["segment"])
        features = (features - features.mean()) / features.std()
        self.x = torch.tensor(features.values, dtype=torch.float32)
        self.y = torch.tensor(df[["segment"]].values, dtype=torch.long)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]


class MLP(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, 16),
            nn.ReLU(),
            nn.Linear(16, n_out),
        )

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
dataset = ChurnDataset(make_csv())
train_set, val_set = torch.utils.data.random_split(dataset, [240, 60])
train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
val_loader = DataLoader(val_set, batch_size=60)

model = MLP(n_in=4, n_out=3)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        for x, y in val_loader:
            logits = model(x)
            val_loss = loss_fn(logits, y).item()
            acc = (logits.argmax(1) == y).float().mean().item()
    print(f"epoch {epoch}: val loss {val_loss:.4f} acc {acc:.3f}")
