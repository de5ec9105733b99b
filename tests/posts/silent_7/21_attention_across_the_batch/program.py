import torch
import torch.nn as nn
import torch.nn.functional as F

HITS, FEATURES = 12, 4


def events(n, seed):
    """Tracks in a detector: the target weighs the hits' norms against their mutual products."""
    g = torch.Generator().manual_seed(seed)
    hits = torch.randn(n, HITS, FEATURES, generator=g)
    gram = torch.einsum("bif,bjf->bij", hits, hits)
    target = gram.diagonal(dim1=1, dim2=2).mean(1) - gram.mean(dim=(1, 2)) * 3
    return hits, (target - target.mean()) / target.std()


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


class SetRegressor(nn.Module):
    def __init__(self, dim=32, depth=2, heads=4):
        super().__init__()
        self.lift = nn.Linear(FEATURES, dim)
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.readout = nn.Linear(dim, 1)

    def forward(self, hits):
        h = self.blocks(self.lift(hits))
        return self.readout(h.mean(dim=1)).squeeze(-1)


def train(model, hits, target, epochs, batch_size, lr=2e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        model.train()
        losses = []
        for rows in torch.randperm(len(hits)).split(batch_size):
            loss = F.mse_loss(model(hits[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        if epoch % 2 == 1:
            print(f"epoch {epoch + 1:2d}  train mse {sum(losses) / len(losses):.4f}")


@torch.no_grad()
def predict(model, hits, batch_size):
    model.eval()
    return torch.cat([model(chunk) for chunk in hits.split(batch_size)])


torch.manual_seed(0)
train_hits, train_target = events(2000, seed=0)
test_hits, test_target = events(400, seed=1)

model = SetRegressor()
train(model, train_hits, train_target, epochs=12, batch_size=40)

for size in (40, 1):
    out = predict(model, test_hits, size)
    print(f"test mse with batch size {size:2d}: {F.mse_loss(out, test_target).item():.4f}  first event {out[0].item():+.3f}")
