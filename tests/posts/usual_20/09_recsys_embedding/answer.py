import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

rng = np.random.default_rng(5)
user_pool = rng.choice(np.arange(1, 1000), size=200, replace=False)
movie_pool = rng.choice(np.arange(1, 5000), size=300, replace=False)
ratings = pd.DataFrame({
    "userId": rng.choice(user_pool, 4000),
    "movieId": rng.choice(movie_pool, 4000),
    "rating": rng.integers(1, 11, 4000) / 2,
})

ratings["userId"] = ratings["userId"].astype("category").cat.codes
ratings["movieId"] = ratings["movieId"].astype("category").cat.codes
n_users = ratings["userId"].nunique()
n_movies = ratings["movieId"].nunique()
print(ratings.shape, n_users, n_movies)


class RatingsDataset(Dataset):
    def __init__(self, frame):
        self.users = torch.tensor(frame["userId"].values, dtype=torch.long)
        self.movies = torch.tensor(frame["movieId"].values, dtype=torch.long)
        self.ratings = torch.tensor(frame["rating"].values, dtype=torch.float32)

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
        nn.init.normal_(self.user_emb.weight, std=0.05)
        nn.init.normal_(self.movie_emb.weight, std=0.05)

    def forward(self, u, m):
        dot = (self.user_emb(u) * self.movie_emb(m)).sum(dim=1)
        return dot + self.user_bias(u).squeeze(1) + self.movie_bias(m).squeeze(1) + 3.0


train_loader = DataLoader(RatingsDataset(ratings), batch_size=128, shuffle=True)
model = MatrixFactorization(n_users, n_movies)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
loss_fn = nn.MSELoss()

for epoch in range(4):
    losses = []
    for users, movies, y in train_loader:
        y_hat = model(users, movies)
        loss = loss_fn(y_hat, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: mse {np.mean(losses):.4f}")
