# line 36: the item tower is multiplied with the user matrix without transposing, so (B, k) @ (M, k) does not fit; mended by: transposing the item factors
import numpy as np
import pandas as pd
import torch
from torch import nn

N_USERS, N_ITEMS, K = 60, 45, 8
rng = np.random.default_rng(3)

log = pd.DataFrame({
    "user": rng.integers(0, N_USERS, 900),
    "item": rng.integers(0, N_ITEMS, 900),
    "genre": rng.integers(0, 5, 900),
})
item_genre = log.groupby("item")["genre"].first().reindex(range(N_ITEMS), fill_value=0)


class TwoTower(nn.Module):
    def __init__(self, genre):
        super().__init__()
        self.user = nn.Embedding(N_USERS, K)
        self.item = nn.Embedding(N_ITEMS, K)
        self.genre = nn.Embedding(5, K)
        self.register_buffer("item_to_genre", genre)

    def user_tower(self, u):
        return nn.functional.normalize(self.user(u), dim=-1)

    def item_tower(self):
        z = self.item.weight + self.genre(self.item_to_genre)
        return nn.functional.normalize(z, dim=-1)

    def scores(self, u, temperature=0.1):
        left = self.user_tower(u)
        right = self.item_tower()
        return left @ right.t() / temperature


model = TwoTower(torch.as_tensor(item_genre.to_numpy()))
opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
users = torch.as_tensor(log["user"].to_numpy())
items = torch.as_tensor(log["item"].to_numpy())

for epoch in range(3):
    losses = []
    for chunk in torch.randperm(len(log)).split(128):
        logits = model.scores(users[chunk])
        loss = nn.functional.cross_entropy(logits, items[chunk])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {np.mean(losses):.3f}")

with torch.no_grad():
    top = model.scores(torch.tensor([0, 1, 2])).topk(5).indices
print(top)
