# Playground competition: loan default, target encoding + small network
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(5)
torch.manual_seed(5)


def load(n):
    merchant = rng.integers(0, 700, n)
    zip_code = rng.integers(0, 400, n)
    income = rng.lognormal(10, 0.4, n)
    debt_ratio = rng.beta(2, 5, n)
    risk = 2.2 * debt_ratio - 0.9 * (np.log(income) - 10) + 0.15 * np.sin(merchant) - 1.6
    return pd.DataFrame({
        "merchant": merchant.astype(str),
        "zip_code": zip_code.astype(str),
        "income": income,
        "debt_ratio": debt_ratio,
        "default": (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int),
    })


df = load(2400)
holdout = load(1200)  # the month after, scored once at the end

df["log_income"] = np.log(df["income"])
holdout["log_income"] = np.log(holdout["income"])

train, valid = train_test_split(df, test_size=0.25, random_state=5, stratify=df["default"])
train, valid = train.copy(), valid.copy()

# mean encoding of the high-cardinality columns, out of fold for the training rows
prior = train["default"].mean()
fold = rng.integers(0, 5, len(train))
for col in ["merchant", "zip_code"]:
    encoded = pd.Series(prior, index=train.index)
    for k in range(5):
        means = train[fold != k].groupby(col)["default"].mean()
        encoded[fold == k] = train.loc[fold == k, col].map(means).fillna(prior)
    train[col + "_te"] = encoded
    means = train.groupby(col)["default"].mean()
    valid[col + "_te"] = valid[col].map(means).fillna(prior)
    holdout[col + "_te"] = holdout[col].map(means).fillna(prior)

features = ["log_income", "debt_ratio", "merchant_te", "zip_code_te"]

mu, sd = train[features].mean(), train[features].std()


def tensors(frame):
    x = ((frame[features] - mu) / sd).to_numpy(dtype=np.float32)
    return torch.from_numpy(x), torch.tensor(frame["default"].to_numpy(), dtype=torch.float32)


x_train, y_train = tensors(train)
x_valid, y_valid = tensors(valid)
x_hold, y_hold = tensors(holdout)

model = nn.Sequential(nn.Linear(len(features), 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
loss_fn = nn.BCEWithLogitsLoss()


def auc(x, y):
    model.eval()
    with torch.no_grad():
        return roc_auc_score(y.numpy(), model(x).squeeze(1).numpy())


for epoch in range(12):
    model.train()
    for xb, yb in DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True):
        loss = loss_fn(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1:2d}  train AUC {auc(x_train, y_train):.3f}  valid AUC {auc(x_valid, y_valid):.3f}")

print(f"holdout AUC {auc(x_hold, y_hold):.3f}")
