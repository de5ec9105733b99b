# %%
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SEED = 2024
torch.manual_seed(SEED)

# %% [markdown]
# Ratings of a reading club. The real csv has the columns reader_id, book_id, rating (1-5).

# %%
def read_ratings(n_readers=150, n_books=80, n_ratings=6000):
    rng = np.random.default_rng(SEED)
    taste = rng.normal(0, 1, (n_readers, 3))
    style = rng.normal(0, 1, (n_books, 3))
    r = rng.integers(0, n_readers, n_ratings)
    b = rng.integers(0, n_books, n_ratings)
    score = 3.2 + 0.7 * (taste[r] * style[b]).sum(1) + rng.normal(0, 0.3, n_ratings)
    return pd.DataFrame({
        "reader_id": r + 1,
        "book_id": b + 1,
        "rating": score.round().clip(1, 5),
    }).drop_duplicates(["reader_id", "book_id"])


ratings = read_ratings()
n_readers = ratings["reader_id"].nunique()
n_books = ratings["book_id"].nunique()
print(f"{len(ratings)} ratings, {n_readers} readers, {n_books} books")
ratings = ratings.sample(frac=1.0, random_state=SEED)
cut = int(0.85 * len(ratings))
train_df, test_df = ratings[:cut], ratings[cut:]


# %%
class RatingDataset(Dataset):
    def __init__(self, df):
        self.data = torch.tensor(df[["reader_id", "book_id", "rating"]].values, dtype=torch.float32)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        reader, book, rating = self.data[i]
        return reader.long(), book.long(), rating


class MatrixFactorization(nn.Module):
    def __init__(self, n_readers, n_books, dim=16, mean=3.0):
        super().__init__()
        self.reader_emb = nn.Embedding(n_readers, dim)
        self.book_emb = nn.Embedding(n_books, dim)
        self.reader_bias = nn.Embedding(n_readers, 1)
        self.book_bias = nn.Embedding(n_books, 1)
        self.mean = mean
        for emb in (self.reader_emb, self.book_emb):
            nn.init.normal_(emb.weight, std=0.1)
        for bias in (self.reader_bias, self.book_bias):
            nn.init.zeros_(bias.weight)

    def forward(self, reader, book):
        dot = (self.reader_emb(reader) * self.book_emb(book)).sum(1)
        return self.mean + dot + self.reader_bias(reader).squeeze(1) + self.book_bias(book).squeeze(1)


# %%
train_loader = DataLoader(RatingDataset(train_df), batch_size=128, shuffle=True)
test_loader = DataLoader(RatingDataset(test_df), batch_size=256)

model = MatrixFactorization(n_readers + 1, n_books + 1, mean=train_df["rating"].mean())
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)

# %%
for epoch in range(6):
    model.train()
    total = 0.0
    for reader, book, rating in train_loader:
        pred = model(reader, book)
        loss = criterion(pred, rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rating)

    model.eval()
    sq, n = 0.0, 0
    with torch.no_grad():
        for reader, book, rating in test_loader:
            sq += ((model(reader, book).clamp(1, 5) - rating) ** 2).sum().item()
            n += len(rating)
    print(f"epoch {epoch + 1}: train MSE {total / len(train_df):.3f}  test RMSE {(sq / n) ** 0.5:.3f}")
