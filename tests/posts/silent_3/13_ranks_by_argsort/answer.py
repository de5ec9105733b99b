import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

N_USERS, N_ITEMS, DIM = 300, 120, 16


def simulate(seed=0):
    g = np.random.default_rng(seed)
    u, v = g.normal(0, 1, (N_USERS, 4)), g.normal(0, 1, (N_ITEMS, 4))
    affinity = u @ v.T + g.gumbel(0, 0.6, (N_USERS, N_ITEMS))
    liked = np.argsort(-affinity, axis=1)[:, :16]
    for row in liked:
        g.shuffle(row)
    return liked[:, :-1], liked[:, -1]


class Interactions(Dataset):
    def __init__(self, liked):
        self.pairs = [(u, i) for u, items in enumerate(liked) for i in items]
        self.seen = [set(items.tolist()) for items in liked]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        u, i = self.pairs[k]
        j = np.random.randint(N_ITEMS)
        while j in self.seen[u]:
            j = np.random.randint(N_ITEMS)
        return u, int(i), j


class MF(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(N_USERS, DIM)
        self.item = nn.Embedding(N_ITEMS, DIM)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1)


@torch.no_grad()
def evaluate(model, liked, held_out):
    scores = model.user.weight @ model.item.weight.T
    scores.scatter_(1, torch.from_numpy(liked), float("-inf"))
    ranks = scores.argsort(dim=1, descending=True).argsort(dim=1)
    target_rank = ranks.gather(1, torch.from_numpy(held_out).unsqueeze(1)).squeeze(1)
    mrr = (1.0 / (target_rank + 1)).mean().item()
    hit10 = (target_rank < 10).float().mean().item()
    return mrr, hit10


np.random.seed(0)
torch.manual_seed(0)
liked, held_out = simulate()
loader = DataLoader(Interactions(liked), batch_size=256, shuffle=True)
model = MF()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2, weight_decay=1e-5)

for epoch in range(10):
    total = 0.0
    for u, i, j in loader:
        loss = -F.logsigmoid(model(u, i) - model(u, j)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    mrr, hit10 = evaluate(model, liked, held_out)
    print(f"epoch {epoch + 1}: BPR {total / len(loader):.4f}  MRR {mrr:.4f}  HR@10 {hit10:.4f}")
