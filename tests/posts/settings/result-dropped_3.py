# line 15: F.normalize on a line of its own leaves the projections as long as they are
import torch
import torch.nn as nn
import torch.nn.functional as F


class SupConProjector(nn.Module):
    def __init__(self, in_dim=18, out_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, 32), nn.ReLU())
        self.projector = nn.Linear(32, out_dim)

    def forward(self, x):
        z = self.projector(self.encoder(x))
        F.normalize(z, dim=1)
        return z


def supcon(z, y, tau=0.5):
    n = len(z)
    eye = torch.eye(n, dtype=torch.bool)
    sims = (z @ z.T / tau).masked_fill(eye, float("-inf"))
    log_p = F.log_softmax(sims, dim=1).masked_fill(eye, 0.0)
    same = (y[:, None] == y[None, :]) & ~eye
    per_anchor = (log_p * same).sum(1) / same.sum(1).clamp(min=1)
    return -per_anchor.mean()


def gestures(n, generator):
    y = torch.randint(5, (n,), generator=generator)
    prototypes = torch.linspace(-1, 1, 5 * 18).sin().view(5, 18)
    return prototypes[y] + torch.randn(n, 18, generator=generator), y


gen = torch.Generator().manual_seed(6)
torch.manual_seed(6)
x, y = gestures(400, gen)
net = SupConProjector()
adam = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(5):
    losses = []
    for rows in torch.randperm(400, generator=gen).split(40):
        adam.zero_grad()
        loss = supcon(net(x[rows]), y[rows])
        loss.backward()
        adam.step()
        losses.append(loss.item())
    print(f"epoch {epoch} supcon {sum(losses) / len(losses):.3f}")
