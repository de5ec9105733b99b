import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def load_ratings(n=3000):
    rng = np.random.default_rng(7)
    users = rng.integers(1, 201, n)
    catalogue = np.sort(rng.choice(np.arange(1, 1500), size=120, replace=False))
    movies = rng.choice(catalogue, n)
    ratings = np.clip(np.round(3 + rng.normal(0, 1, n) + (users % 3 - 1) * 0.5), 1, 5)
    return pd.DataFrame({"userId": users, "movieId": movies, "rating": ratings})


ratings = load_ratings()
ratings["user"] = ratings["userId"].astype("category").cat.codes
ratings["movie"] = ratings["movieId"].astype("category").cat.codes
n_users = ratings["user"].nunique()
n_movies = ratings["movie"].nunique()
print("users:", n_users, "movies:", n_movies)


class RatingsDataset(Dataset):
    def __init__(self, df):
        self.users = torch.tensor(df["user"].values, dtype=torch.long)
        self.movies = torch.tensor(df["movie"].values, dtype=torch.long)
        self.ratings = torch.tensor(df["rating"].values, dtype=torch.float32)

    def __len__(self):
        return len(self.ratings)

    def __getitem__(self, i):
        return self.users[i], self.movies[i], self.ratings[i]


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_movies, dim=16):
        super().__init__()
        self.user_emb = nn.Embedding(n_users, dim)
        self.movie_emb = nn.Embedding(n_movies, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.movie_bias = nn.Embedding(n_movies, 1)
        for emb in (self.user_emb, self.movie_emb):
            nn.init.normal_(emb.weight, std=0.05)
        for emb in (self.user_bias, self.movie_bias):
            nn.init.zeros_(emb.weight)

    def forward(self, u, m):
        dot = (self.user_emb(u) * self.movie_emb(m)).sum(1)
        return 3.0 + dot + self.user_bias(u).squeeze(1) + self.movie_bias(m).squeeze(1)


torch.manual_seed(7)
shuffled = ratings.sample(frac=1.0, random_state=7)
train_ds = RatingsDataset(shuffled.iloc[:2400])
test_ds = RatingsDataset(shuffled.iloc[2400:])
train_dl = DataLoader(train_ds, batch_size=128, shuffle=True)

model = MatrixFactorization(n_users, n_movies)
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
mse = nn.MSELoss()

for epoch in range(5):
    model.train()
    for u, m, r in train_dl:
        opt.zero_grad()
        loss = mse(model(u, m), r)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        rmse = mse(model(test_ds.users, test_ds.movies), test_ds.ratings).sqrt()
    print(f"epoch {epoch}: test RMSE {rmse.item():.3f}")
