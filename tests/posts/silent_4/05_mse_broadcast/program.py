import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(5)
df = pd.DataFrame(rng.normal(size=(600, 5)), columns=["area", "rooms", "age", "dist", "floor"])
df["rent"] = 2.0 * df["area"] + 0.7 * df["rooms"] - 1.1 * df["age"] + rng.normal(scale=0.2, size=600)


class RentDataset(Dataset):
    def __init__(self, frame):
        self.x = torch.tensor(frame.drop(columns="rent").values, dtype=torch.float32)
        self.y = torch.tensor(frame["rent"].values, dtype=torch.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


train_ds, test_ds = RentDataset(df.iloc[:480]), RentDataset(df.iloc[480:])
loader = DataLoader(train_ds, batch_size=40, shuffle=True)

model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def squared_error(pred, target):
    return ((pred - target) ** 2).mean()


for epoch in range(30):
    model.train()
    total = 0.0
    for x, y in loader:
        out = model(x)
        loss = squared_error(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: mse {total / len(train_ds):.4f}")

model.eval()
with torch.no_grad():
    preds = model(test_ds.x)
print("predictions std", preds.std().item(), "targets std", test_ds.y.std().item())
