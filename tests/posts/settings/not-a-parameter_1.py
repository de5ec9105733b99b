# line 14: the learnable query vectors are kept in a plain python list of tensors with requires_grad, which parameters() does not return
import torch
import torch.nn as nn
import torch.nn.functional as F


class PerceiverPool(nn.Module):
    """A few learned queries read a set."""

    def __init__(self, d, n_queries=4):
        super().__init__()
        self.key = nn.Linear(d, d)
        self.val = nn.Linear(d, d)
        self.queries = [torch.randn(d, requires_grad=True) for _ in range(n_queries)]

    def forward(self, s):
        q = torch.stack(self.queries)
        w = torch.softmax(torch.einsum("qd,nsd->nqs", q, self.key(s)), dim=2)
        return torch.einsum("nqs,nsd->nqd", w, self.val(s)).flatten(1)


class SetClassifier(nn.Module):
    def __init__(self, d_in=3, d=12, classes=2):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(d_in, d), nn.ReLU(), nn.Linear(d, d))
        self.pool = PerceiverPool(d)
        self.out = nn.Linear(4 * d, classes)

    def forward(self, pts):
        return self.out(self.pool(self.embed(pts)))


def clouds(n):
    y = torch.randint(2, (n,))
    p = F.normalize(torch.randn(n, 40, 3), dim=2)
    p = torch.where(y[:, None, None] == 1, p, p / p.abs().amax(2, keepdim=True))
    return p, y


torch.manual_seed(6)
model = SetClassifier()
optim = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    pts, y = clouds(24)
    loss = F.cross_entropy(model(pts), y)
    optim.zero_grad()
    loss.backward()
    optim.step()
model.eval()
with torch.no_grad():
    pts, y = clouds(100)
    print("accuracy", (model(pts).argmax(1) == y).float().mean().item())
