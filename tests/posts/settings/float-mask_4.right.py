# line 10: the ones of np.triu are added to the scores as they are, so a later step only gets a score that is 1 larger
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def later_steps(size):
    upper = np.triu(np.ones((size, size), dtype=np.float32), k=1)
    return torch.from_numpy(np.where(upper > 0, np.float32(-1e9), np.float32(0)))


class SASRecBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.ff = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, bias):
        h = self.n1(x)
        logits = self.q(h) @ self.k(h).mT / x.size(-1) ** 0.5
        x = x + F.softmax(logits + bias, dim=-1) @ self.v(h)
        return x + self.ff(self.n2(x))


class SASRec(nn.Module):
    def __init__(self, items, dim=24, length=10):
        super().__init__()
        self.item, self.place = nn.Embedding(items, dim), nn.Embedding(length, dim)
        self.blocks = nn.ModuleList([SASRecBlock(dim), SASRecBlock(dim)])
        self.register_buffer("bias", later_steps(length))

    def forward(self, clicks):
        n = clicks.size(1)
        x = self.item(clicks) + self.place.weight[:n]
        for block in self.blocks:
            x = block(x, self.bias[:n, :n])
        return x @ self.item.weight.t()


def sessions(n, items=30, length=11):
    step = torch.randint(1, 4, (n, 1))
    return (torch.randint(0, items, (n, 1)) + step * torch.arange(length)) % items


torch.manual_seed(0)
rec = SASRec(30)
optimizer = torch.optim.Adam(rec.parameters(), lr=3e-3)
log = sessions(600)
for epoch in range(6):
    rec.train()
    for rows in torch.randperm(600).split(50):
        logits = rec(log[rows, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), log[rows, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

rec.eval()
test = sessions(200)
with torch.no_grad():
    hits = (rec(test[:, :-1])[:, -1].argmax(-1) == test[:, -1]).float().mean()
print("hit rate of the last click", hits.item())
