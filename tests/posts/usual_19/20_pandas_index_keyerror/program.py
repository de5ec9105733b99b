import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import Dataset, DataLoader

np.random.seed(7)
torch.manual_seed(7)


class CreditDataset(Dataset):
    def __init__(self, frame):
        self.features = frame.drop(columns=["default"])
        self.targets = frame["default"]

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        row = self.features.iloc[idx].values.astype(np.float32)
        target = self.targets[idx]
        return torch.from_numpy(row), torch.tensor([target], dtype=torch.float32)


df = pd.DataFrame({
    "income": np.random.lognormal(0, 0.5, 400),
    "debt": np.random.lognormal(0, 0.7, 400),
    "age": np.random.uniform(-1, 1, 400),
    "loans": np.random.poisson(1.5, 400),
})
df["default"] = (df["debt"] > 1.2 * df["income"]).astype(int)

train_df, test_df = train_test_split(df, test_size=0.25, random_state=7)
train_loader = DataLoader(CreditDataset(train_df), batch_size=32, shuffle=True)
test_loader = DataLoader(CreditDataset(test_df), batch_size=32)

model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(10):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

model.eval()
hits = 0
with torch.no_grad():
    for x, y in test_loader:
        hits += ((model(x) > 0).float() == y).sum().item()
print("test accuracy", hits / len(test_df))
