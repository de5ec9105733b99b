# line 43: the noise inside q_sample is drawn anew and another draw is the target of the denoiser
import torch
import torch.nn as nn
import torch.nn.functional as F


class Schedule:
    def __init__(self, steps=50):
        beta = torch.linspace(1e-3, 0.1, steps)
        self.bar = torch.cumprod(1 - beta, 0)
        self.steps = steps

    def q_sample(self, x0, t):
        a = self.bar[t].view(-1, 1)
        return a.sqrt() * x0 + (1 - a).sqrt() * torch.randn(x0.shape)


class Denoiser(nn.Module):
    def __init__(self, d=2, steps=50, width=48):
        super().__init__()
        self.time = nn.Embedding(steps, 16)
        self.net = nn.Sequential(nn.Linear(d + 16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, d))

    def forward(self, xt, t):
        return self.net(torch.cat([xt, self.time(t)], dim=1))


def two_moons(n):
    a = torch.rand(n) * torch.pi
    side = torch.randint(2, (n,)).float()
    x = torch.stack([a.cos() + side, a.sin() * (1 - 2 * side) + 0.5 * side], 1)
    return x + 0.05 * torch.randn(n, 2)


class DDPM:
    def __init__(self):
        self.sched, self.eps_model = Schedule(), Denoiser()
        self.opt = torch.optim.Adam(self.eps_model.parameters(), 2e-3)

    def loss(self, x0):
        t = torch.randint(self.sched.steps, (len(x0),))
        eps = torch.randn(x0.shape)
        xt = self.sched.q_sample(x0, t)
        return F.mse_loss(self.eps_model(xt, t), eps)

    def fit(self, its):
        for i in range(its):
            l = self.loss(two_moons(128))
            self.opt.zero_grad()
            l.backward()
            self.opt.step()
            if i % 50 == 0:
                print(i, l.item())


torch.manual_seed(0)
DDPM().fit(200)
