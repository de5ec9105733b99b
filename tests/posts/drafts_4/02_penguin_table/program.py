"""Penguin species from field measurements, single hold-out split."""
import numpy as np
import pandas as pd
import torch
from torch import nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 2024
EPOCHS = 25
BATCH = 32

np.random.seed(SEED)
torch.manual_seed(SEED)


def make_df(n=333):
    species = np.random.choice(["Adelie", "Chinstrap", "Gentoo"], n, p=[0.44, 0.2, 0.36])
    shift = pd.Series(species).map({"Adelie": 0, "Chinstrap": 1, "Gentoo": 2}).values
    return pd.DataFrame({
        "bill_length": 38.8 + 4.5 * shift + np.random.randn(n) * 2.5,
        "bill_depth": 18.3 - 1.6 * shift + np.random.randn(n),
        "flipper": 190 + 13 * shift + np.random.randn(n) * 6,
        "mass": 3700 + 600 * shift + np.random.randn(n) * 350,
        "island": np.random.choice(["Biscoe", "Dream", "Torgersen"], n),
        "species": species,
    })


df = make_df()
df = pd.get_dummies(df, columns=["island"], dtype=float)
df["species"] = df["species"].astype("category")
features = [c for c in df.columns if c != "species"]
labels = df["species"].cat.codes.values

train_x, valid_x, train_y, valid_y = train_test_split(
    df[features].values, labels, test_size=0.2, stratify=labels, random_state=SEED)

scaler = StandardScaler()
train_x = scaler.fit_transform(train_x)
valid_x = scaler.transform(valid_x)

train_x, valid_x = torch.from_numpy(train_x), torch.from_numpy(valid_x)
train_y, valid_y = torch.from_numpy(train_y), torch.from_numpy(valid_y)

model = nn.Sequential(
    nn.Linear(len(features), 32),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(32, 3),
)
opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-4)

for epoch in range(EPOCHS):
    model.train()
    perm = torch.randperm(len(train_x))
    total = 0.0
    for i in range(0, len(perm), BATCH):
        idx = perm[i:i + BATCH]
        xb, yb = train_x[idx], train_y[idx]
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            acc = (model(valid_x).argmax(1) == valid_y).float().mean().item()
        print(f"epoch {epoch + 1:2d}  loss {total / len(train_x):.4f}  valid acc {acc:.3f}")
