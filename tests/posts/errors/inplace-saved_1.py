# line 18: the attention weights that softmax has saved for its gradient are multiplied in place by the tile mask; mended by: multiplying out of place
import torch
import torch.nn as nn


class InstanceAttention(nn.Module):
    """Gated attention over the tiles of one slide (multiple instance learning)."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.v = nn.Linear(dim, hidden)
        self.u = nn.Linear(dim, hidden)
        self.w = nn.Linear(hidden, 1)

    def forward(self, tiles, keep):
        score = self.w(torch.tanh(self.v(tiles)) * torch.sigmoid(self.u(tiles))).squeeze(-1)
        attn = torch.softmax(score, dim=-1)
        attn *= keep
        attn = attn / attn.sum(-1, keepdim=True)
        return attn


class SlideClassifier(nn.Module):
    def __init__(self, dim=24, hidden=16, tile_drop=0.3):
        super().__init__()
        self.tile_drop = tile_drop
        self.encode = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.attention = InstanceAttention(dim, hidden)
        self.out = nn.Linear(dim, 1)

    def forward(self, bag):
        h = self.encode(bag)
        keep = torch.ones(bag.shape[:2])
        if self.training:
            keep = (torch.rand(bag.shape[:2]) > self.tile_drop).float()
            keep[:, 0] = 1.0
        a = self.attention(h, keep)
        slide = torch.einsum("bn,bnd->bd", a, h)
        return self.out(slide)[:, 0], a


def make_bags(n, tiles=30, dim=24):
    bags = torch.randn(n, tiles, dim)
    labels = (torch.rand(n) < 0.5).float()
    for i in range(n):
        if labels[i]:
            bags[i, torch.randperm(tiles)[:4], :3] += 2.5
    return bags, labels


torch.manual_seed(33)
bags, labels = make_bags(60)
model = SlideClassifier()
optim = torch.optim.Adam(model.parameters(), lr=3e-3)
crit = nn.BCEWithLogitsLoss()
for epoch in range(4):
    model.train()
    for b in torch.randperm(60).split(10):
        logit, _ = model(bags[b])
        loss = crit(logit, labels[b])
        optim.zero_grad()
        loss.backward()
        optim.step()
    model.eval()
    with torch.no_grad():
        logit, attn = model(bags)
        acc = ((logit > 0).float() == labels).float().mean()
    print(f"{epoch}: loss {loss.item():.3f} acc {acc:.3f} max attention {attn.max():.3f}")
