# line 26: the einsum adds the products of all user-item pairs of the batch to one number that every pair gets
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(3)
n_users, n_items = 40, 50
taste, style = rng.normal(size=(n_users, 3)), rng.normal(size=(n_items, 3))
who = rng.integers(0, n_users, 1500)
what = rng.integers(0, n_items, 1500)
rating = (taste[who] * style[what]).sum(1) + 0.1 * rng.normal(size=1500)


class MatrixFactorization(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.P, self.Q = nn.Embedding(n_users, k), nn.Embedding(n_items, k)
        self.bu, self.bi = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        for e in (self.P, self.Q):
            nn.init.normal_(e.weight, std=0.3)
        for e in (self.bu, self.bi):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        bias = self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1)
        return bias + torch.einsum("nk,nk->n", self.P(u), self.Q(i))


def to_batches(index, size):
    for part in np.array_split(index, max(1, len(index) // size)):
        yield (
            torch.as_tensor(who[part]),
            torch.as_tensor(what[part]),
            torch.as_tensor(rating[part], dtype=torch.float32),
        )


torch.manual_seed(3)
order = rng.permutation(1500)
train_idx, test_idx = order[:1200], order[1200:]
mf = MatrixFactorization(6)
optim = torch.optim.Adam(mf.parameters(), lr=0.02)
for epoch in range(15):
    mf.train()
    for u, i, r in to_batches(rng.permutation(train_idx), 50):
        optim.zero_grad()
        loss = ((mf(u, i) - r) ** 2).mean()
        loss.backward()
        optim.step()

mf.eval()
se = 0.0
with torch.no_grad():
    for u, i, r in to_batches(test_idx, 50):
        se += ((mf(u, i) - r) ** 2).sum().item()
print("rmse", (se / len(test_idx)) ** 0.5)
