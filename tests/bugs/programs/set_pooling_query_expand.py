import torch
import torch.nn as nn

CONFIG = dict(
    point_dim=3,
    d_model=28,
    n_heads=4,
    n_classes=8,
)


class PoolByAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.seed = nn.Parameter(torch.empty(1, 1, dim))
        nn.init.xavier_uniform_(self.seed)
        self.mha = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())

    def forward(self, x):
        b = x.shape[0]
        query = self.seed.expand(b, -1)
        pooled, _ = self.mha(query, x, x, need_weights=False)
        return pooled + self.ff(pooled)


class Model(nn.Module):
    def __init__(self, config=None):
        super().__init__()
        config = {**CONFIG, **(config or {})}
        d = config["d_model"]
        self.lift = nn.Sequential(
            nn.Linear(config["point_dim"], d), nn.GELU(), nn.Linear(d, d)
        )
        self.pool = PoolByAttention(d, config["n_heads"])
        self.logits = nn.Linear(d, config["n_classes"])

    def forward(self, points):
        return self.logits(self.pool(self.lift(points)).squeeze(1))


def example_inputs():
    return (torch.randn(6, 50, 3),)
