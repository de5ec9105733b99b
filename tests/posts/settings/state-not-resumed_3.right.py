# line 44: the state of the discriminator's optimizer is saved, but resume() never loads it
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class RingGAN:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.it = 0

    def real(self, n):
        angle = 6.2832 * torch.rand(n, 1)
        return torch.cat([angle.cos(), angle.sin()], 1) + 0.02 * torch.randn(n, 2)

    def iteration(self, n=64):
        fake = self.G(torch.randn(n, 4))
        d_loss = F.softplus(-self.D(self.real(n))).mean() + F.softplus(self.D(fake.detach())).mean()
        self.opt_d.zero_grad()
        d_loss.backward()
        self.opt_d.step()
        g_loss = F.softplus(-self.D(fake)).mean()
        self.opt_g.zero_grad()
        g_loss.backward()
        self.opt_g.step()
        self.it += 1
        return d_loss.item(), g_loss.item()

    def save(self, path):
        parts = {"G": self.G, "D": self.D, "opt_g": self.opt_g, "opt_d": self.opt_d}
        torch.save({"it": self.it, **{name: part.state_dict() for name, part in parts.items()}}, path)

    def resume(self, path):
        ckpt = torch.load(path)
        self.it = ckpt["it"]
        self.G.load_state_dict(ckpt["G"])
        self.D.load_state_dict(ckpt["D"])
        self.opt_g.load_state_dict(ckpt["opt_g"])
        self.opt_d.load_state_dict(ckpt["opt_d"])


def job(path, until):
    gan = RingGAN()
    if os.path.exists(path):
        gan.resume(path)
    while gan.it < until:
        d_loss, g_loss = gan.iteration()
        if gan.it % 100 == 0:
            print(gan.it, round(d_loss, 3), round(g_loss, 3))
            gan.save(path)


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    for until in (200, 400):
        job(os.path.join(folder, "gan.pt"), until)
