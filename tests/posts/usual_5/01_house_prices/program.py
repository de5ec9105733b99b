# House prices: regression on mixed columns
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(1)
rng = np.random.default_rng(1)

HOODS = ["Crawford", "Edwards", "Gilbert", "Mitchell", "NoRidge", "Sawyer", "Veenker"]


def make_sales(n, hoods, p):
    df = pd.DataFrame({
        "area": rng.normal(150, 40, n).clip(40),
        "rooms": rng.integers(2, 9, n),
        "year_built": rng.integers(1920, 2010, n),
        "neighborhood": rng.choice(hoods, n, p=p),
        "heating": rng.choice(["gas", "electric", "oil"], n),
    })
    df["price"] = 900 * df["area"] + 12000 * df["rooms"] + rng.normal(0, 9000, n)
    return df


train_df = make_sales(900, HOODS, [0.2, 0.2, 0.2, 0.15, 0.15, 0.05, 0.05])
# the held-out year: nothing was sold in Veenker
test_df = make_sales(200, HOODS[:-1], [0.2, 0.2, 0.2, 0.15, 0.15, 0.1])

numeric = ["area", "rooms", "year_built"]
mean, std = train_df[numeric].mean(), train_df[numeric].std()
y_mean, y_std = train_df["price"].mean(), train_df["price"].std()


def prepare(df):
    num = (df[numeric] - mean) / std
    cat = pd.get_dummies(df[["neighborhood", "heating"]], dtype=float)
    features = pd.concat([num, cat], axis=1)
    target = (df["price"] - y_mean) / y_std
    return features, target


X_train, y_train = prepare(train_df)
X_test, y_test = prepare(test_df)


def as_dataset(X, y):
    return TensorDataset(torch.tensor(X.values, dtype=torch.float32),
                         torch.tensor(y.values, dtype=torch.float32).unsqueeze(1))


train_dl = DataLoader(as_dataset(X_train, y_train), batch_size=64, shuffle=True)
test_dl = DataLoader(as_dataset(X_test, y_test), batch_size=64)

net = nn.Sequential(
    nn.Linear(X_train.shape[1], 64), nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(64, 32), nn.ReLU(),
    nn.Linear(32, 1),
)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
mse = nn.MSELoss()

for epoch in range(8):
    net.train()
    total = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = mse(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    print(f"epoch {epoch + 1}: train mse {total / len(X_train):.4f}")

net.eval()
sq = 0.0
with torch.no_grad():
    for xb, yb in test_dl:
        sq += ((net(xb) - yb) ** 2).sum().item()
rmse = (sq / len(X_test)) ** 0.5 * y_std
print(f"test rmse: {rmse:,.0f}")
