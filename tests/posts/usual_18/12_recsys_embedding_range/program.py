# Matrix factorisation for podcast recommendations
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.model_selection import train_test_split


def load_listens(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    users = rng.choice(np.arange(10_000, 10_160), size=n)
    shows = rng.choice(rng.choice(np.arange(1, 900), size=70, replace=False), size=n)
    taste = np.sin(users * 0.7) * np.cos(shows * 0.3)
    score = np.clip(np.round(3 + 2 * taste + rng.normal(0, 0.3, n)), 1, 5)
    return pd.DataFrame({"user_id": users, "show_id": shows, "score": score})


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_shows, dim=12):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.show = nn.Embedding(n_shows, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.show_bias = nn.Embedding(n_shows, 1)
        self.mu = nn.Parameter(torch.tensor(3.0))
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.show.weight, std=0.1)

    def forward(self, u, s):
        dot = (self.user(u) * self.show(s)).sum(-1)
        return self.mu + dot + self.user_bias(u).squeeze(-1) + self.show_bias(s).squeeze(-1)


def batches(frame, size, shuffle=True):
    order = np.random.permutation(len(frame)) if shuffle else np.arange(len(frame))
    for start in range(0, len(frame), size):
        part = frame.iloc[order[start:start + size]]
        yield (torch.tensor(part["user"].values), torch.tensor(part["show"].values),
               torch.tensor(part["score"].values, dtype=torch.float32))


df = load_listens()
n_users = df["user_id"].nunique()
n_shows = df["show_id"].nunique()
print(f"{n_users} users, {n_shows} shows, {len(df)} scores")

df["user"] = df["user_id"].astype("category").cat.codes.astype("int64")
df["show"] = df["show_id"].astype("int64")
train_df, test_df = train_test_split(df, test_size=0.2, random_state=1)

torch.manual_seed(0)
np.random.seed(0)
model = MatrixFactorization(n_users, n_shows)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-5)

for epoch in range(4):
    model.train()
    total = 0.0
    for u, s, score in batches(train_df, 256):
        loss = F.mse_loss(model(u, s), score)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(u)

    model.eval()
    with torch.no_grad():
        u, s, score = next(batches(test_df, len(test_df), shuffle=False))
        rmse = F.mse_loss(model(u, s), score).sqrt().item()
    print(f"epoch {epoch} train mse {total / len(train_df):.3f} test rmse {rmse:.3f}")
