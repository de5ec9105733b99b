# %% [markdown]
# Flat prices: can a small neural net beat the linear regression?

# %%
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

torch.manual_seed(5)
rng = np.random.default_rng(5)

# %%
n = 1200
df = pd.DataFrame({
    "area": rng.uniform(25, 140, n).round(1),
    "rooms": rng.integers(1, 6, n),
    "floor": rng.integers(0, 12, n),
    "age": rng.integers(0, 90, n),
    "district": rng.choice(["north", "old_town", "harbour", "hill"], n),
    "balcony": rng.choice(["yes", "no"], n),
})
bonus = df["district"].map({"north": 0, "old_town": 60, "harbour": 25, "hill": 40})
df["price"] = (
    2.6 * df["area"] + 8 * df["rooms"] - 0.5 * df["age"] + bonus
    + 0.01 * (df["area"] - 70) ** 2 + rng.normal(0, 8, n)
)
df.head()

# %%
df = pd.get_dummies(df, columns=["district", "balcony"], dtype=float)
df = df.sample(frac=1, random_state=0).reset_index(drop=True)
print(df.dtypes)

split = 1000
features = [c for c in df.columns if c != "price"]
numeric = ["area", "rooms", "floor", "age"]
mean, std = df.loc[: split - 1, numeric].mean(), df.loc[: split - 1, numeric].std()
df[numeric] = (df[numeric] - mean) / std
price_mean, price_std = df.loc[: split - 1, "price"].mean(), df.loc[: split - 1, "price"].std()

# %%
X = torch.tensor(df[features].values, dtype=torch.float32)
y = torch.tensor(((df["price"] - price_mean) / price_std).values, dtype=torch.float32)
X_train, X_test = X[:split], X[split:]
y_train, y_test = y[:split], y[split:]
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)

# %%
model = nn.Sequential(
    nn.Linear(len(features), 32),
    nn.ReLU(),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
)
loss_fn = nn.MSELoss()
optim = torch.optim.Adam(model.parameters(), lr=3e-3)

# %%
history = []
for epoch in range(40):
    epoch_loss = 0.0
    for xb, yb in loader:
        pred = model(xb)
        loss = loss_fn(pred, yb.unsqueeze(1))
        optim.zero_grad()
        loss.backward()
        optim.step()
        epoch_loss += loss.item() * len(xb)
    history.append(epoch_loss / split)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:3d}  mse {history[-1]:.4f}")

# %%
model.eval()
with torch.no_grad():
    net_pred = model(X_test).squeeze(1).numpy()

lin = LinearRegression().fit(X_train.numpy(), y_train.numpy())
print("R2 network:", round(r2_score(y_test.numpy(), net_pred), 3))
print("R2 linear: ", round(r2_score(y_test.numpy(), lin.predict(X_test.numpy())), 3))
