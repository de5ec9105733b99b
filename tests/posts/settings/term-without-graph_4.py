# line 27: the smoothness term counts changes of sign of the velocity, which has no gradient
import torch
import torch.nn.functional as F
from torch import nn


class TrajectoryNet(nn.Module):
    def __init__(self, horizon=12):
        super().__init__()
        self.horizon = horizon
        self.encoder = nn.GRU(2, 32, batch_first=True)
        self.decoder = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, horizon * 2))

    def forward(self, seen):
        _, h = self.encoder(seen)
        return seen[:, -1:] + self.decoder(h[0]).unflatten(1, (self.horizon, 2)).cumsum(dim=1)


class TrajectoryLoss(nn.Module):
    def __init__(self, smooth=0.5):
        super().__init__()
        self.smooth = smooth

    def jerkiness(self, path):
        velocity = path.diff(dim=1)
        before, after = velocity[:, :-1], velocity[:, 1:]
        return torch.ne(torch.sign(before), torch.sign(after)).to(path.dtype).mean()

    def forward(self, path, truth):
        return F.mse_loss(path, truth) + self.smooth * self.jerkiness(path)


def walks(n, length=20):
    heading = torch.rand(n, 1) * 6.28 + 0.1 * torch.randn(n, length).cumsum(1)
    step = torch.stack([heading.cos(), heading.sin()], dim=-1) * (0.5 + torch.rand(n, 1, 1))
    path = step.cumsum(1)
    return path[:, :8], path[:, 8:]


torch.manual_seed(9)
seen, future = walks(300)
net, criterion = TrajectoryNet(), TrajectoryLoss()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(6):
    epoch_loss = 0.0
    for rows in torch.randperm(300).split(30):
        loss = criterion(net(seen[rows]), future[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss += loss.item() * len(rows)
    print(epoch, round(epoch_loss / 300, 4))
