import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def make_tables(n_users=300, n_movies=640, n_rows=1500, seq_len=8, seed=0):
    rng = np.random.default_rng(seed)
    users = pd.DataFrame({
        "user_id": np.arange(n_users),
        "sex": rng.integers(0, 2, n_users),
        "age_group": rng.integers(0, 7, n_users),
        "occupation": rng.integers(0, 21, n_users),
    })
    history = rng.integers(0, n_movies, (n_rows, seq_len))
    ratings = rng.integers(1, 6, (n_rows, seq_len)).astype(np.float32)
    return users, n_movies, history, ratings


class RatingSequences(Dataset):
    """The last movie of each sequence is the one whose rating is predicted."""

    def __init__(self, users, history, ratings, seed=1):
        rng = np.random.default_rng(seed)
        self.user = rng.integers(0, len(users), len(history))
        self.table = users
        self.history = history
        self.ratings = ratings

    def __len__(self):
        return len(self.history)

    def __getitem__(self, i):
        row = self.table.iloc[self.user[i]]
        return {
            "user": torch.tensor([row.user_id, row.sex, row.age_group, row.occupation], dtype=torch.long),
            "past": torch.from_numpy(self.history[i, :-1]),
            "past_ratings": torch.from_numpy(self.ratings[i, :-1]),
            "target": torch.tensor(self.history[i, -1]),
            "rating": torch.tensor(self.ratings[i, -1]),
        }


class BehaviorTransformer(nn.Module):
    def __init__(self, n_users, n_movies, seq_len):
        super().__init__()
        movie_dim = int(np.sqrt(n_movies))
        user_dim = int(np.sqrt(n_users))
        self.user_emb = nn.Embedding(n_users, user_dim)
        self.sex_emb = nn.Embedding(2, 2)
        self.age_emb = nn.Embedding(7, 2)
        self.job_emb = nn.Embedding(21, 4)
        self.movie_emb = nn.Embedding(n_movies, movie_dim)
        self.pos_emb = nn.Embedding(seq_len, movie_dim)
        d_model = 2 * movie_dim
        layer = nn.TransformerEncoderLayer(d_model, nhead=2, dim_feedforward=64, dropout=0.2, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, num_layers=1)
        self.linear = nn.Sequential(
            nn.Linear(d_model * seq_len + user_dim + 2 + 2 + 4, 256),
            nn.LeakyReLU(),
            nn.Linear(256, 64),
            nn.LeakyReLU(),
            nn.Linear(64, 1),
        )

    def encode_user(self, user):
        return torch.cat([
            self.user_emb(user[:, 0]),
            self.sex_emb(user[:, 1]),
            self.age_emb(user[:, 2]),
            self.job_emb(user[:, 3]),
        ], dim=1)

    def forward(self, batch):
        past = self.movie_emb(batch["past"]) * batch["past_ratings"].unsqueeze(-1)
        target = self.movie_emb(batch["target"]).unsqueeze(1)
        seq = torch.cat([past, target], dim=1)
        pos = self.pos_emb(torch.arange(seq.size(1))).expand(seq.size(0), -1, -1)
        out = self.transformer(torch.cat([seq, pos], dim=2))
        out = torch.flatten(out, start_dim=1)
        features = torch.cat([out, self.encode_user(batch["user"])], dim=1)
        return self.linear(features).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=5e-4)
    args = parser.parse_args()

    torch.manual_seed(0)
    users, n_movies, history, ratings = make_tables()
    loader = DataLoader(RatingSequences(users, history, ratings), batch_size=args.batch_size, shuffle=True)
    model = BehaviorTransformer(len(users), n_movies, seq_len=history.shape[1])
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        total, count = 0.0, 0
        for batch in loader:
            optimizer.zero_grad()
            pred = model(batch)
            loss = criterion(pred, batch["rating"])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(pred)
            count += len(pred)
        print(f"epoch {epoch + 1}: mse {total / count:.4f}")


if __name__ == "__main__":
    main()
