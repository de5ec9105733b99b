# line 20: avg_fn keeps 1 - momentum of the average and takes momentum of the new weights
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Linear(1, width)
        self.inp = nn.Linear(2, width)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.out(self.inp(x) + self.time(t))


def polyak(momentum):
    def avg_fn(averaged, current, num_averaged):
        return averaged + (1 - momentum) * (current - averaged)

    return avg_fn


def ring(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


def flow_loss(net, x):
    t = torch.rand(len(x), 1)
    noise = torch.randn_like(x)
    return nn.functional.mse_loss(net((1 - t) * noise + t * x, t), x - noise)


@torch.no_grad()
def sample(net, n=200, steps=20):
    x = torch.randn(n, 2)
    for k in range(steps):
        x = x + net(x, torch.full((n, 1), k / steps)) / steps
    return x


torch.manual_seed(53)
net = Denoiser()
smooth = AveragedModel(net, avg_fn=polyak(0.98))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(300):
    loss = flow_loss(net, ring(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth.update_parameters(net)
smooth.eval()
print("mean radius of the samples", sample(smooth).norm(dim=1).mean().item())
