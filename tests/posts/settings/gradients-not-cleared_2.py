# line 30: the generator's optimizer is cleared by mistake instead of the discriminator's: the discriminator's gradients pile up
import torch
from torch import nn

torch.manual_seed(0)
bce = nn.BCEWithLogitsLoss()


def block(*dims):
    mods = []
    for i, o in zip(dims, dims[1:]):
        mods += [nn.Linear(i, o), nn.LeakyReLU(0.2)]
    return nn.Sequential(*mods[:-1])


gen, dis = block(4, 32, 2), block(2, 32, 1)
opt_g = torch.optim.SGD(gen.parameters(), lr=0.02)
opt_d = torch.optim.SGD(dis.parameters(), lr=0.02)


def real_points(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


def discriminator_turn(n):
    with torch.no_grad():
        fake = gen(torch.randn(n, 4))
    loss = bce(dis(real_points(n)), torch.ones(n, 1)) + bce(dis(fake), torch.zeros(n, 1))
    opt_g.zero_grad()
    loss.backward()
    opt_d.step()
    return loss.item()


def generator_turn(n):
    for p in dis.parameters():
        p.requires_grad_(False)
    loss = bce(dis(gen(torch.randn(n, 4))), torch.ones(n, 1))
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
    for p in dis.parameters():
        p.requires_grad_(True)
    return loss.item()


for it in range(100):
    d, g = discriminator_turn(64), generator_turn(64)
    if it % 25 == 0:
        print(it, round(d, 3), round(g, 3))
