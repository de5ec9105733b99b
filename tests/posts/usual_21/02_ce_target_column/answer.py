import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


def make_frame(n=800, seed=3):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame(
        rng.normal(size=(n, 6)),
        columns=["acidity", "sugar", "chlorides", "density", "ph", "alcohol"],
    )
    score = df["alcohol"] - 0.5 * df["acidity"] + rng.normal(scale=0.3, size=n)
    df["quality"] = pd.qcut(score, 3, labels=False)
    return df


class WineDataset(Dataset):
    def __init__(self, df):
        features = df.drop(columns=["quality"])
        labels = df["quality"]
        self.X = torch.tensor(features.values, dtype=torch.float32)
        self.y = torch.tensor(labels.values, dtype=torch.long)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, idx):
        return self.X[idx], self.y[idx]


torch.manual_seed(0)
df = make_frame()
train_ds = WineDataset(df.iloc[:640])
test_ds = WineDataset(df.iloc[640:])
train_loader = DataLoader(train_ds, batch_size=64, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=64)

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    model.train()
    for features, targets in train_loader:
        logits = model(features)
        loss = criterion(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for features, targets in test_loader:
            correct += (model(features).argmax(dim=1) == targets).sum().item()
    print(f"epoch {epoch}: test accuracy {correct / len(test_ds):.3f}")
