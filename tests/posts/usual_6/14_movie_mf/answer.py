import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def movielens_like(n_users=120, n_movies=300, n_ratings=5000, seed=0):
    """userId, movieId, rating as in ratings.csv of ml-latest-small"""
    rng = np.random.default_rng(seed)
    movie_ids = np.sort(rng.choice(np.arange(1, 20000), n_movies, replace=False))
    u = rng.integers(1, n_users + 1, n_ratings)
    m = rng.integers(0, n_movies, n_ratings)
    pu, qi = rng.normal(0, 0.6, (n_users + 1, 4)), rng.normal(0, 0.6, (n_movies, 4))
    r = 3.5 + (pu[u] * qi[m]).sum(1) + rng.normal(0, 0.3, n_ratings)
    r = np.clip(np.round(r * 2) / 2, 0.5, 5.0)
    return pd.DataFrame({"userId": u, "movieId": movie_ids[m], "rating": r}).drop_duplicates(["userId", "movieId"])


ratings = movielens_like()
movie2idx = {m: i for i, m in enumerate(ratings["movieId"].unique())}
ratings["movie_idx"] = ratings["movieId"].map(movie2idx)
ratings = ratings.sample(frac=1.0, random_state=1).reset_index(drop=True)
n_train = int(0.9 * len(ratings))
train_df, valid_df = ratings.iloc[:n_train], ratings.iloc[n_train:]


class RatingDataset(Dataset):
    def __init__(self, df):
        self.users = torch.tensor(df["userId"].values, dtype=torch.long)
        self.movies = torch.tensor(df["movie_idx"].values, dtype=torch.long)
        self.ratings = torch.tensor(df["rating"].values, dtype=torch.float)

    def __len__(self):
        return len(self.ratings)

    def __getitem__(self, i):
        return self.users[i], self.movies[i], self.ratings[i]


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=16, mean=3.5):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mean = mean
        for emb in (self.user_factors, self.item_factors):
            nn.init.normal_(emb.weight, std=0.1)
        for emb in (self.user_bias, self.item_bias):
            nn.init.zeros_(emb.weight)

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(1)
        return self.mean + dot + self.user_bias(user).squeeze(1) + self.item_bias(item).squeeze(1)


torch.manual_seed(0)
n_users = int(ratings["userId"].max()) + 1
n_movies = ratings["movie_idx"].nunique()
print(f"{n_users} users, {n_movies} movies, {len(ratings)} ratings")

train_loader = DataLoader(RatingDataset(train_df), batch_size=256, shuffle=True)
valid_loader = DataLoader(RatingDataset(valid_df), batch_size=256)

model = MatrixFactorization(n_users, n_movies, mean=float(train_df["rating"].mean()))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
mse = nn.MSELoss()

for epoch in range(8):
    model.train()
    for user, item, rating in train_loader:
        optimizer.zero_grad()
        loss = mse(model(user, item), rating)
        loss.backward()
        optimizer.step()

    model.eval()
    se = 0.0
    with torch.no_grad():
        for user, item, rating in valid_loader:
            se += ((model(user, item) - rating) ** 2).sum().item()
    print(f"epoch {epoch}: valid RMSE {(se / len(valid_df)) ** 0.5:.4f}")
