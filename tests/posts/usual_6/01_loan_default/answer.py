# %% [markdown]
# # Loan default - baseline with a small neural net

# %%
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(42)
rng = np.random.default_rng(42)

# %%
n = 1200
df = pd.DataFrame({
    "loan_id": np.arange(100000, 100000 + n),
    "income": rng.lognormal(10.5, 0.4, n),
    "age": rng.integers(20, 70, n),
    "loan_amount": rng.lognormal(9.0, 0.6, n),
    "n_open_accounts": rng.integers(0, 12, n),
    "months_employed": rng.integers(0, 240, n),
})
score = 1.5 * (df["loan_amount"] / df["income"]) - 0.01 * df["months_employed"] + rng.normal(0, 0.4, n)
df["default"] = (score > score.quantile(0.8)).astype(int)
df.head()

# %%
n_features = df.shape[1] - 2
n_features

# %%
train_df = df.sample(frac=0.8, random_state=0)
test_df = df.drop(train_df.index)


def split_xy(frame):
    X = frame.drop(columns=["loan_id", "default"])
    y = frame["default"]
    return X, y


X_train, y_train = split_xy(train_df)
X_test, y_test = split_xy(test_df)

mean, std = X_train.mean(), X_train.std()
X_train = (X_train - mean) / std
X_test = (X_test - mean) / std

# %%
train_ds = TensorDataset(torch.tensor(X_train.to_numpy(), dtype=torch.float32),
                         torch.tensor(y_train.to_numpy(), dtype=torch.float32).unsqueeze(1))
test_ds = TensorDataset(torch.tensor(X_test.to_numpy(), dtype=torch.float32),
                        torch.tensor(y_test.to_numpy(), dtype=torch.float32).unsqueeze(1))
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=256)

# %%
net = nn.Sequential(
    nn.Linear(n_features, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)

# %%
for epoch in range(10):
    net.train()
    total = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)

    net.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            hits += ((net(xb) > 0).float() == yb).sum().item()
    print(f"{epoch:2d}  train loss {total / len(train_ds):.4f}  test acc {hits / len(test_ds):.3f}")
