import torch
from torch import nn
import torch.nn.functional as F


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


class TwoTower(nn.Module):
    def __init__(self, query_dim, item_dim, dim=32):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(query_dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.item = nn.Sequential(nn.Linear(item_dim, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, q, i):
        return unit(self.query(q)), unit(self.item(i))


def recall_at_1(model, q, i):
    model.eval()
    with torch.no_grad():
        zq, zi = model(q, i)
        sims = zq @ zi.T
    hits = (sims.argmax(dim=1) == torch.arange(len(q))).float().mean().item()
    return hits, sims.diagonal().mean().item()


latent = torch.randn(3000, 12)
queries = latent @ torch.randn(12, 30) + 0.3 * torch.randn(3000, 30)
items = latent @ torch.randn(12, 50) + 0.3 * torch.randn(3000, 50)
model = TwoTower(30, 50)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
temperature = 0.07

for epoch in range(6):
    model.train()
    total = 0.0
    for idx in torch.randperm(2560).split(128):
        zq, zi = model(queries[idx], items[idx])
        sims = zq @ zi.T / temperature
        target = torch.arange(len(idx))
        loss = 0.5 * (F.cross_entropy(sims, target) + F.cross_entropy(sims.T, target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    recall, mean_cos = recall_at_1(model, queries[2560:], items[2560:])
    print(f"epoch {epoch}: loss {total / 2560:.3f} recall@1 {recall:.3f} mean cosine {mean_cos:.4f}")
