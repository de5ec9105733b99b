import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, Dataset


class MovieRatings(Dataset):
    def __init__(self, n_users, n_movies, n_ratings, seed, taste_seed=5):
        taste = np.random.default_rng(taste_seed)
        users = taste.normal(size=(n_users, 4))
        movies = taste.normal(size=(n_movies, 4))
        rng = np.random.default_rng(seed)
        self.u = rng.integers(0, n_users, n_ratings)
        self.m = rng.integers(0, n_movies, n_ratings)
        raw = 3.2 + 0.5 * (users[self.u] * movies[self.m]).sum(1) + rng.normal(0, 0.2, n_ratings)
        self.r = np.clip(raw, 0.5, 5.0).astype(np.float32)

    def __len__(self):
        return len(self.r)

    def __getitem__(self, i):
        return int(self.u[i]), int(self.m[i]), self.r[i]


class BiasedMF(nn.Module):
    def __init__(self, n_users, n_movies, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.movie = nn.Embedding(n_movies, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.movie_bias = nn.Embedding(n_movies, 1)
        self.mu = nn.Parameter(torch.zeros(()))
        for table in (self.user, self.movie):
            nn.init.normal_(table.weight, std=0.2)
        for table in (self.user_bias, self.movie_bias):
            nn.init.zeros_(table.weight)

    def forward(self, u, m):
        dot = (self.user(u) * self.movie(m)).sum(-1)
        return self.mu + dot + self.user_bias(u).squeeze(-1) + self.movie_bias(m).squeeze(-1)


class Fitter:
    def __init__(self, model, lr=0.02, epochs=6, clip=5.0):
        self.model = model
        self.epochs = epochs
        self.clip = clip
        self.loss_fn = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = CosineAnnealingLR(self.optimizer, T_max=epochs)

    def step(self, u, m, r):
        pred = self.model(u, m)
        loss = self.loss_fn(pred, r)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.zero_grad()
        self.optimizer.step()
        return loss.item()

    def rmse(self, loader):
        self.model.eval()
        se, n = 0.0, 0
        with torch.no_grad():
            for u, m, r in loader:
                se += ((self.model(u, m) - r) ** 2).sum().item()
                n += len(r)
        return (se / n) ** 0.5

    def fit(self, train_loader, test_loader):
        for epoch in range(self.epochs):
            self.model.train()
            losses = [self.step(u, m, r) for u, m, r in train_loader]
            self.scheduler.step()
            print(f"epoch {epoch}: train mse {np.mean(losses):.4f}, test rmse {self.rmse(test_loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(3)
    N_USERS, N_MOVIES = 150, 120
    train_loader = DataLoader(MovieRatings(N_USERS, N_MOVIES, 8000, seed=1), batch_size=128, shuffle=True)
    test_loader = DataLoader(MovieRatings(N_USERS, N_MOVIES, 1500, seed=2), batch_size=500)
    Fitter(BiasedMF(N_USERS, N_MOVIES, dim=6)).fit(train_loader, test_loader)
