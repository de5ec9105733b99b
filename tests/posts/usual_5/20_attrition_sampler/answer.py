import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, WeightedRandomSampler

torch.manual_seed(4)
rng = np.random.default_rng(4)

# ------------------------------------------------------------------ data
N = 2400
df = pd.DataFrame({
    "age": rng.integers(20, 62, N),
    "income": rng.lognormal(8.3, 0.4, N),
    "overtime": rng.integers(0, 2, N),
    "distance": rng.exponential(8, N),
    "years": rng.integers(0, 25, N),
})
risk = 1.6 * df["overtime"] - 0.05 * (df["age"] - 40) + 0.05 * df["distance"] - 0.12 * df["years"]
df["attrition"] = (risk + rng.normal(0, 0.7, N) > 2.2).astype(int)
print(df["attrition"].value_counts().to_dict())

order = rng.permutation(N)
train_df = df.iloc[order[:1800]].reset_index(drop=True)
test_df = df.iloc[order[1800:]].reset_index(drop=True)

features = [c for c in df.columns if c != "attrition"]
mean, std = train_df[features].mean(), train_df[features].std()


class HRDataset(Dataset):
    def __init__(self, frame):
        x = (frame[features] - mean) / std
        self.x = torch.tensor(x.to_numpy(), dtype=torch.float32)
        self.y = torch.tensor(frame["attrition"].to_numpy(), dtype=torch.long)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


train_ds, test_ds = HRDataset(train_df), HRDataset(test_df)

# ------------------------------------------------------------------ balanced sampling
class_count = torch.bincount(train_ds.y)
class_weights = 1.0 / class_count.float()
print("class weights:", class_weights.tolist())
sampler = WeightedRandomSampler(class_weights[train_ds.y], num_samples=len(train_ds), replacement=True)

train_loader = DataLoader(train_ds, batch_size=64, sampler=sampler)
test_loader = DataLoader(test_ds, batch_size=256)

# ------------------------------------------------------------------ model
model = nn.Sequential(
    nn.Linear(len(features), 32), nn.ReLU(),
    nn.Linear(32, 16), nn.ReLU(),
    nn.Linear(16, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    running, seen = 0.0, 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
        seen += len(yb)
    print(f"epoch {epoch + 1}: train loss {running / seen:.4f}")

# ------------------------------------------------------------------ evaluation
model.eval()
confusion = torch.zeros(2, 2, dtype=torch.long)
with torch.no_grad():
    for xb, yb in test_loader:
        pred = model(xb).argmax(dim=1)
        for t, p in zip(yb, pred):
            confusion[t, p] += 1
recall = confusion.diag() / confusion.sum(dim=1)
print(confusion)
print("recall per class:", [round(r, 3) for r in recall.tolist()])
