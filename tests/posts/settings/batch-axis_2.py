# line 12: the embeddings of the users are divided by a norm along the batch instead of the norm of each vector
import numpy as np
import torch
from torch import nn

cfg = dict(users=50, items=80, dim=12, lr=0.01, batch=32, steps=60, scale=5.0)
rng = np.random.default_rng(3)
torch.manual_seed(3)


def unit(v, eps=1e-8):
    return v / (v.norm(dim=0, keepdim=True) + eps)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim, scale):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(users, dim), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.item = nn.Sequential(nn.Embedding(items, dim), nn.Linear(dim, dim))
        self.scale = scale

    def forward(self, u, i):
        a, b = unit(self.user(u)), unit(self.item(i))
        return self.scale * (a * b).sum(-1)


model = TwoTower(cfg["users"], cfg["items"], cfg["dim"], cfg["scale"])
optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
pairs = np.stack([rng.integers(0, cfg["users"], 600), rng.integers(0, cfg["items"], 600)], 1)
clicked = ((pairs[:, 0] + pairs[:, 1]) % 2).astype(np.float32)

for step in range(cfg["steps"]):
    rows = rng.choice(len(pairs), cfg["batch"], replace=False)
    u = torch.as_tensor(pairs[rows, 0])
    i = torch.as_tensor(pairs[rows, 1])
    y = torch.as_tensor(clicked[rows])
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(u, i), y)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
