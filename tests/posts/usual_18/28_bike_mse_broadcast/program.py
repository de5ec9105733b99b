# Kaggle style: hourly demand of rental bikes
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler
from torch.utils.data import Dataset, DataLoader

rng = np.random.default_rng(10)
n = 1500
df = pd.DataFrame({
    "hour": rng.integers(0, 24, n),
    "temp": rng.normal(15, 8, n),
    "humidity": rng.uniform(20, 100, n),
    "holiday": rng.integers(0, 2, n),
})
df["count"] = (60 + 40 * np.sin((df["hour"] - 8) / 24 * 2 * np.pi) + 3 * df["temp"]
               - 0.3 * df["humidity"] + 15 * df["holiday"] + rng.normal(0, 5, n))
df["hour_sin"] = np.sin(df["hour"] / 24 * 2 * np.pi)
df["hour_cos"] = np.cos(df["hour"] / 24 * 2 * np.pi)
df = df.drop(columns="hour")

train_df = df.sample(frac=0.8, random_state=0)
test_df = df.drop(train_df.index)
cols = [c for c in df.columns if c != "count"]
x_scaler = StandardScaler().fit(train_df[cols])
y_mean, y_std = train_df["count"].mean(), train_df["count"].std()


class BikeDataset(Dataset):
    def __init__(self, frame):
        self.x = torch.tensor(x_scaler.transform(frame[cols]), dtype=torch.float32)
        self.y = torch.tensor(((frame["count"] - y_mean) / y_std).values, dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BikeModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
train_loader = DataLoader(BikeDataset(train_df), batch_size=60, shuffle=True)
test_set = BikeDataset(test_df)

model = BikeModel(len(cols))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(10):
    model.train()
    total = 0
    for x, y in train_loader:
        pred = model(x)
        loss = torch.mean((pred - y) ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "loss", round(total / len(train_loader), 4))

model.eval()
with torch.no_grad():
    pred = model(test_set.x).squeeze(1).numpy() * y_std + y_mean
print("R2 on test:", round(r2_score(test_df["count"], pred), 3))
