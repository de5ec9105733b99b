import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import mean_squared_error

np.random.seed(0)
torch.manual_seed(0)

# ratings as exported by the shop
user_ids = np.random.choice(np.arange(10000, 99999), size=120, replace=False)
book_ids = np.random.choice(np.arange(1000, 9999), size=80, replace=False)
ratings = pd.DataFrame({
    "user_id": np.random.choice(user_ids, 4000),
    "book_id": np.random.choice(book_ids, 4000),
})
taste = pd.Series(np.random.normal(0, 0.7, len(user_ids)), index=user_ids)
quality = pd.Series(np.random.normal(0, 0.7, len(book_ids)), index=book_ids)
ratings["rating"] = (
    3.0 + taste[ratings["user_id"]].values + quality[ratings["book_id"]].values + np.random.normal(0, 0.3, 4000)
).clip(1, 5)

n_users = ratings["user_id"].nunique()
n_books = ratings["book_id"].nunique()
print(f"{n_users} users, {n_books} books, {len(ratings)} ratings")

ratings["user"] = ratings["user_id"].astype("int64")
ratings["book"] = ratings["book_id"].astype("int64")

train = ratings.sample(frac=0.8, random_state=0)
test = ratings.drop(train.index)


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_books, n_factors=16):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.book_factors = nn.Embedding(n_books, n_factors)
        self.user_bias = nn.Embedding(n_users, 1)
        self.book_bias = nn.Embedding(n_books, 1)
        self.mu = nn.Parameter(torch.tensor(3.0))
        nn.init.normal_(self.user_factors.weight, std=0.05)
        nn.init.normal_(self.book_factors.weight, std=0.05)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.book_bias.weight)

    def forward(self, user, book):
        dot = (self.user_factors(user) * self.book_factors(book)).sum(dim=1)
        return self.mu + dot + self.user_bias(user).squeeze(1) + self.book_bias(book).squeeze(1)


def to_tensors(frame):
    user = torch.tensor(frame["user"].values)
    book = torch.tensor(frame["book"].values)
    rating = torch.tensor(frame["rating"].values, dtype=torch.float32)
    return user, book, rating


user, book, rating = to_tensors(train)
model = MatrixFactorization(n_users, n_books)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-5)
loss_fn = nn.MSELoss()
batch_size = 256

for epoch in range(10):
    perm = torch.randperm(len(rating))
    losses = []
    for start in range(0, len(perm), batch_size):
        idx = perm[start:start + batch_size]
        optimizer.zero_grad()
        loss = loss_fn(model(user[idx], book[idx]), rating[idx])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1:2d}  mse {np.mean(losses):.4f}")

model.eval()
user, book, rating = to_tensors(test)
pred = model(user, book)
rmse = mean_squared_error(rating.numpy(), pred.numpy()) ** 0.5
print(f"test RMSE {rmse:.3f}")
