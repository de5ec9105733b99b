import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(42)
n = 600
df = pd.DataFrame({
    "age": rng.integers(18, 80, n),
    "income": rng.normal(52000, 15000, n),
    "tenure": rng.integers(0, 20, n),
    "num_products": rng.integers(1, 5, n),
})
df["segment"] = pd.cut(df["income"], [-1e9, 45000, 60000, 1e9], labels=[0, 1, 2]).astype(int)

FEATURES = ["age", "income", "tenure", "num_products"]
train_df, val_df = train_test_split(df, test_size=0.2, random_state=42)
scaler = StandardScaler().fit(train_df[FEATURES])


class CustomerDataset(Dataset):
    def __init__(self, frame):
        self.X = scaler.transform(frame[FEATURES]).astype(np.float32)
        self.y = frame["segment"].values.astype(np.float32)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return torch.from_numpy(self.X[i]), torch.tensor(self.y[i])


train_dl = DataLoader(CustomerDataset(train_df), batch_size=32, shuffle=True)
val_dl = DataLoader(CustomerDataset(val_df), batch_size=64)

torch.manual_seed(42)
model = nn.Sequential(
    nn.Linear(len(FEATURES), 32),
    nn.ReLU(),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    model.train()
    for xb, yb in train_dl:
        logits = model(xb)
        loss = loss_fn(logits, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()

    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in val_dl:
            hits += (model(xb).argmax(dim=1) == yb).sum().item()
    print("epoch", epoch, "val acc", hits / len(val_df))
