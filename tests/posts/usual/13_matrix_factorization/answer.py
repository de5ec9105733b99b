import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
rng = np.random.default_rng(7)
n_ratings = 3000
ratings = pd.DataFrame({
    "userId": rng.integers(1, 201, n_ratings),
    "movieId": rng.integers(1, 501, n_ratings) * 3,
    "rating": rng.choice(np.arange(0.5, 5.5, 0.5), n_ratings),
})

user_ids = {u: i for i, u in enumerate(ratings.userId.unique())}
movie_ids = {m: i for i, m in enumerate(ratings.movieId.unique())}
ratings["user"] = ratings.userId.map(user_ids)
ratings["movie"] = ratings.movieId.map(movie_ids)


class RatingsDataset(Dataset):
    def __init__(self, frame):
        self.users = frame["user"].values
        self.movies = frame["movie"].values
        self.ratings = frame["rating"].values.astype(np.float32)

    def __len__(self):
        return len(self.ratings)

    def __getitem__(self, idx):
        return self.users[idx], self.movies[idx], self.ratings[idx]


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_movies, n_factors=32):
        super().__init__()
        self.user_emb = nn.Embedding(n_users, n_factors)
        self.movie_emb = nn.Embedding(n_movies, n_factors)
        self.user_bias = nn.Embedding(n_users, 1)
        self.movie_bias = nn.Embedding(n_movies, 1)
        self.mean = nn.Parameter(torch.tensor(3.0))
        nn.init.normal_(self.user_emb.weight, std=0.05)
        nn.init.normal_(self.movie_emb.weight, std=0.05)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.movie_bias.weight)

    def forward(self, u, m):
        dot = (self.user_emb(u) * self.movie_emb(m)).sum(1)
        return dot + self.user_bias(u).squeeze(1) + self.movie_bias(m).squeeze(1) + self.mean


train = ratings.sample(frac=0.8, random_state=1)
test = ratings.drop(train.index)
train_dl = DataLoader(RatingsDataset(train), batch_size=256, shuffle=True)
test_dl = DataLoader(RatingsDataset(test), batch_size=256)

model = MatrixFactorization(len(user_ids), len(movie_ids))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5)

for epoch in range(3):
    model.train()
    for users, movies, target in train_dl:
        pred = model(users, movies)
        loss = criterion(pred, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    se, count = 0.0, 0
    with torch.no_grad():
        for users, movies, target in test_dl:
            se += ((model(users, movies) - target) ** 2).sum().item()
            count += len(target)
    print(f"epoch {epoch} train loss {loss.item():.4f} test rmse {(se / count) ** 0.5:.4f}")
