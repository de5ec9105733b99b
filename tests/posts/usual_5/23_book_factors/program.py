# coding: utf-8
# Book recommendations by biased matrix factorisation
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

N_READERS, N_BOOKS, K = 150, 100, 8


def simulate_ratings(density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.normal(0, 1, (N_READERS, 3))
    Q = rng.normal(0, 1, (N_BOOKS, 3))
    b = rng.normal(0, 0.3, N_BOOKS)
    full = 3.4 + P @ Q.T * 0.6 + b + rng.normal(0, 0.3, (N_READERS, N_BOOKS))
    full = np.clip(full, 1, 5)
    seen = rng.random(full.shape) < density
    readers, books = np.nonzero(seen)
    return readers, books, full[seen].astype(np.float32)


class BiasedMF(nn.Module):
    def __init__(self, n_readers, n_books, k, mean):
        super().__init__()
        self.P = nn.Embedding(n_readers, k)
        self.Q = nn.Embedding(n_books, k)
        self.b_reader = nn.Embedding(n_readers, 1)
        self.b_book = nn.Embedding(n_books, 1)
        self.mean = mean
        nn.init.normal_(self.P.weight, std=0.1)
        nn.init.normal_(self.Q.weight, std=0.1)
        nn.init.zeros_(self.b_reader.weight)
        nn.init.zeros_(self.b_book.weight)

    def forward(self, reader, book):
        interaction = (self.P(reader) * self.Q(book)).sum()
        bias = self.b_reader(reader).squeeze(1) + self.b_book(book).squeeze(1)
        return self.mean + bias + interaction


def rmse(model, loader):
    model.eval()
    se, n = 0.0, 0
    with torch.no_grad():
        for reader, book, rating in loader:
            se += ((model(reader, book) - rating) ** 2).sum().item()
            n += rating.numel()
    return (se / n) ** 0.5


torch.manual_seed(0)
readers, books, ratings = simulate_ratings()
order = np.random.default_rng(1).permutation(len(ratings))
readers, books, ratings = (torch.from_numpy(a[order]) for a in (readers, books, ratings))
cut = int(0.9 * len(ratings))
train_dl = DataLoader(TensorDataset(readers[:cut], books[:cut], ratings[:cut]), batch_size=64, shuffle=True)
test_dl = DataLoader(TensorDataset(readers[cut:], books[cut:], ratings[cut:]), batch_size=64)

mean = ratings[:cut].mean().item()
model = BiasedMF(N_READERS, N_BOOKS, K, mean)
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-5)

baseline = (ratings[cut:] - mean).pow(2).mean().sqrt().item()
print(f"{cut} training ratings, baseline rmse {baseline:.3f}")
for epoch in range(12):
    model.train()
    for reader, book, rating in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(reader, book), rating)
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  train rmse {rmse(model, train_dl):.3f}  test rmse {rmse(model, test_dl):.3f}")

# top five for reader 0
model.eval()
with torch.no_grad():
    scores = model.P.weight[0] @ model.Q.weight.T + model.b_book.weight.squeeze(1)
already = books[:cut][readers[:cut] == 0]
scores[already] = -float("inf")
print("recommended:", scores.topk(5).indices.tolist())
