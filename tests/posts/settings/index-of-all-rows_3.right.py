# line 21: scores[:, items] takes the scores of all items of the batch for each user, (B, B), and meets the stars (B,)
import numpy as np
import torch
from torch import nn


class MatrixFactorisation(nn.Module):
    def __init__(self, users, items, rank=6):
        super().__init__()
        self.user = nn.Embedding(users, rank)
        self.item = nn.Embedding(items, rank)
        self.item_bias = nn.Parameter(torch.zeros(items))
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)

    def all_scores(self, users):
        return 3.0 + self.user(users) @ self.item.weight.t() + self.item_bias

    def forward(self, users, items):
        scores = self.all_scores(users)
        return scores[torch.arange(len(items)), items]


rng = np.random.default_rng(15)
taste, style = rng.normal(size=(80, 3)), rng.normal(size=(50, 3))
user_ids = rng.integers(0, 80, 2000)
item_ids = rng.integers(0, 50, 2000)
stars = np.clip(3 + np.einsum("nd,nd->n", taste[user_ids], style[item_ids]) * 0.6 + rng.normal(0, 0.2, 2000), 1, 5)
users, items = torch.from_numpy(user_ids), torch.from_numpy(item_ids)
stars = torch.tensor(stars, dtype=torch.float32)

torch.manual_seed(15)
model = MatrixFactorisation(80, 50)
opt = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-5)
for epoch in range(6):
    squared, seen = 0.0, 0
    for rows in torch.randperm(1600).split(100):
        error = model(users[rows], items[rows]) - stars[rows]
        loss = error.square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        squared += loss.item() * len(rows)
        seen += len(rows)
    print(f"epoch {epoch}: rmse {(squared / seen) ** 0.5:.3f}")
