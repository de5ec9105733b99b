import argparse
import math

import torch
from torch import nn, autograd, optim
from torch.utils.data import DataLoader, TensorDataset

ap = argparse.ArgumentParser()
ap.add_argument('--iters', type=int, default=60)
ap.add_argument('--critic-iters', type=int, default=3)
ap.add_argument('--batch', type=int, default=64)
ap.add_argument('--lambda-gp', type=float, default=10.0)
ap.add_argument('--latent', type=int, default=4)
opt = ap.parse_args()

torch.manual_seed(3)


def moons(n):
    t = torch.rand(n) * math.pi
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, t.cos(), 1 - t.cos())
    y = torch.where(upper, t.sin(), 0.5 - t.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


def inf_train_gen(loader):
    while True:
        for (batch,) in loader:
            yield batch


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(inter)
    grad = autograd.grad(outputs=score, inputs=inter, grad_outputs=torch.ones_like(score))[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


loader = DataLoader(TensorDataset(moons(1000)), batch_size=opt.batch, shuffle=True)
data = inf_train_gen(loader)
G, D = mlp(opt.latent, 2), mlp(2, 1)
optD = optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
optG = optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))

for it in range(opt.iters):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(opt.critic_iters):
        real = next(data)
        with torch.no_grad():
            fake = G(torch.randn(real.size(0), opt.latent))
        D.zero_grad()
        wass = D(fake).mean() - D(real).mean()
        gp = gradient_penalty(D, real, fake)
        cost = wass + opt.lambda_gp * gp
        cost.backward()
        optD.step()

    for p in D.parameters():
        p.requires_grad_(False)
    G.zero_grad()
    g_cost = -D(G(torch.randn(opt.batch, opt.latent))).mean()
    g_cost.backward()
    optG.step()

    if it % 10 == 0:
        print('iter %3d  W %.4f  gp %.4f  G %.4f' % (it, -wass.item(), gp.item(), g_cost.item()))

with torch.no_grad():
    out = G(torch.randn(500, opt.latent))
print('mean', [round(v, 3) for v in out.mean(0).tolist()], 'std', [round(v, 3) for v in out.std(0).tolist()])
