import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(21)
torch.manual_seed(21)

# ------------------------------------------------------------------
# adverts from the second-hand market
# ------------------------------------------------------------------
N = 1200
age = rng.integers(0, 15, N)
gears = rng.choice([1, 7, 21, 27], N)
weight = rng.normal(14, 3, N)
electric = rng.integers(0, 2, N)
wear = age + rng.normal(0, 2.5, N)
df = pd.DataFrame({
    "age": age,
    "gears": gears,
    "weight": weight,
    "electric": electric,
    "condition": pd.cut(wear, [-20, 4, 9, 40], labels=["good", "used", "worn"]),
    "price": 500 - 28 * age + 6 * gears + 700 * electric - 9 * weight + rng.normal(0, 50, N),
})
df["price"] = df["price"].clip(lower=20)

features = ["age", "gears", "weight", "electric"]
train = df[:1000]
price_mean, price_std = train["price"].mean(), train["price"].std()
df[features] = (df[features] - train[features].mean()) / train[features].std()
df["price"] = (df["price"] - price_mean) / price_std

X = torch.tensor(df[features].to_numpy(), dtype=torch.float32)
price = torch.tensor(df["price"].to_numpy(), dtype=torch.float32)
condition = torch.tensor(df["condition"].cat.codes.to_numpy())

train_ds = TensorDataset(X[:1000], price[:1000], condition[:1000])
test_ds = TensorDataset(X[1000:], price[1000:], condition[1000:])
train_loader = DataLoader(train_ds, batch_size=50, shuffle=True)


# ------------------------------------------------------------------
class BikeNet(nn.Module):
    def __init__(self, n_features, n_conditions):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_features, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
        )
        self.price_head = nn.Linear(64, 1)
        self.condition_head = nn.Linear(64, n_conditions)

    def forward(self, x):
        h = self.trunk(x)
        # a bike always costs something
        price = F.relu(self.price_head(h)).squeeze(1)
        return price, self.condition_head(h)


model = BikeNet(len(features), df["condition"].cat.categories.size)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(1, 16):
    model.train()
    sum_price = sum_cond = 0.0
    for xb, pb, cb in train_loader:
        pred_price, pred_cond = model(xb)
        loss_price = F.mse_loss(pred_price, pb)
        loss_cond = F.cross_entropy(pred_cond, cb)
        optimizer.zero_grad()
        loss_price.backward()
        loss_cond.backward()
        optimizer.step()
        sum_price += loss_price.item()
        sum_cond += loss_cond.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch:2d}  price {sum_price / len(train_loader):.3f}  condition {sum_cond / len(train_loader):.3f}")

model.eval()
with torch.no_grad():
    xb, pb, cb = test_ds.tensors
    pred_price, pred_cond = model(xb)
mae = ((pred_price - pb).abs() * price_std).mean()
acc = (pred_cond.argmax(1) == cb).float().mean()
print(f"test: price off by {mae:.0f} euro on average, condition accuracy {acc:.3f}")
