"""Matrix factorisation of ratings, with a little network on top."""
from collections import namedtuple

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

Rating = namedtuple("Rating", "user item score")


def make_ratings(users, items, count, seed=3):
    rng = np.random.default_rng(seed)
    taste, kind = rng.normal(size=(users, 3)), rng.normal(size=(items, 3))
    pairs = zip(rng.integers(0, users, count), rng.integers(0, items, count))
    return [Rating(int(u), int(i), float(np.clip(3 + taste[u] @ kind[i], 1, 5))) for u, i in pairs]


class Ratings(Dataset):
    def __init__(self, ratings):
        self.ratings = ratings

    def __len__(self):
        return len(self.ratings)

    def __getitem__(self, n):
        rating = self.ratings[n]
        return rating.user, rating.item, torch.tensor(rating.score)


class Recommender(nn.Module):
    def __init__(self, users, items, width=12):
        super().__init__()
        self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
        self.top = nn.Sequential(nn.Linear(2 * width, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, user, item):
        u, i = self.user(user), self.item(item)
        return (u * i).sum(-1) + self.top(torch.cat([u, i], -1)).squeeze(-1)


class History:
    def __init__(self):
        self.losses = []

    def add(self, loss):
        self.losses.append(loss)

    def recent(self, n):
        return sum(self.losses[-n:]) / n


def main(users=30, items=40, epochs=3):
    torch.manual_seed(0)
    loader = DataLoader(Ratings(make_ratings(users, items, 160)), batch_size=32, shuffle=True)
    model = Recommender(users, items)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    history = History()
    for epoch in range(epochs):
        for user, item, score in loader:
            loss = nn.functional.mse_loss(model(user, item), score)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.add(loss)
        print(f"epoch {epoch}: {history.recent(len(loader)):.4f}")
    print(f"{len(history.losses)} steps")


main()
