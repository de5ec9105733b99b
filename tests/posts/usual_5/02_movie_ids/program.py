import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


def write_ratings(path, n_users=120, n_movies=80, n=4000, seed=7):
    """Same layout as u.data: user id, item id, rating, timestamp."""
    rng = np.random.RandomState(seed)
    users = rng.randint(1, n_users + 1, n)
    movies = rng.randint(1, n_movies + 1, n)
    users[:n_users] = np.arange(1, n_users + 1)
    movies[:n_movies] = np.arange(1, n_movies + 1)
    ratings = np.clip(np.round(3 + 0.8 * rng.randn(n)), 1, 5).astype(int)
    stamps = rng.randint(874724710, 893286638, n)
    pd.DataFrame(dict(u=users, m=movies, r=ratings, t=stamps)).to_csv(
        path, sep="\t", header=False, index=False)


class RatingsDataset(Dataset):
    def __init__(self, frame):
        self.users = torch.tensor(frame["user_id"].to_numpy(), dtype=torch.long)
        self.movies = torch.tensor(frame["movie_id"].to_numpy(), dtype=torch.long)
        self.ratings = torch.tensor(frame["rating"].to_numpy(), dtype=torch.float32)

    def __len__(self):
        return len(self.ratings)

    def __getitem__(self, i):
        return self.users[i], self.movies[i], self.ratings[i]


class NeuMF(nn.Module):
    def __init__(self, n_users, n_movies, dim=16):
        super().__init__()
        self.user_emb = nn.Embedding(n_users, dim)
        self.movie_emb = nn.Embedding(n_movies, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, user, movie):
        u = self.user_emb(user)
        m = self.movie_emb(movie)
        return self.mlp(torch.cat([u, m], dim=-1)).squeeze(-1)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, count = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for user, movie, rating in loader:
            loss = F.mse_loss(model(user, movie), rating)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(rating)
            count += len(rating)
    return (total / count) ** 0.5


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="u.data")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    write_ratings(args.data)
    df = pd.read_csv(args.data, sep="\t", names=["user_id", "movie_id", "rating", "timestamp"])
    n_users = df["user_id"].nunique()
    n_movies = df["movie_id"].nunique()
    print(n_users, "users,", n_movies, "movies,", len(df), "ratings")

    df = df.sort_values("timestamp")
    split = int(0.9 * len(df))
    train_dl = DataLoader(RatingsDataset(df.iloc[:split]), batch_size=256, shuffle=True)
    valid_dl = DataLoader(RatingsDataset(df.iloc[split:]), batch_size=256)

    model = NeuMF(n_users, n_movies)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        tr = run_epoch(model, train_dl, optimizer)
        va = run_epoch(model, valid_dl)
        print(f"[{epoch}] rmse train {tr:.3f} valid {va:.3f}")
