import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.utils import save_image


class CondNorm(nn.Module):
    def __init__(self, channels, c_dim):
        super(CondNorm, self).__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=False)
        self.gamma = nn.Linear(c_dim, channels)
        self.beta = nn.Linear(c_dim, channels)

    def forward(self, x, c):
        g = self.gamma(c)[:, :, None, None]
        b = self.beta(c)[:, :, None, None]
        return (1 + g) * self.norm(x) + b


class Generator(nn.Module):
    def __init__(self, dim, c_dim, n_blocks):
        super(Generator, self).__init__()
        self.stem = nn.Conv2d(3, dim, 7, padding=3)
        self.convs = nn.ModuleList([nn.Conv2d(dim, dim, 3, padding=1) for _ in range(n_blocks)])
        self.norms = nn.ModuleList([CondNorm(dim, c_dim) for _ in range(n_blocks)])
        self.head = nn.Conv2d(dim, 3, 7, padding=3)

    def forward(self, x, c):
        h = self.stem(x)
        for conv, norm in zip(self.convs, self.norms):
            h = h + F.relu(norm(conv(h), c))
        return torch.tanh(self.head(h)), h


class Discriminator(nn.Module):
    def __init__(self, dim, c_dim):
        super(Discriminator, self).__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, dim, 4, 2, 1), nn.LeakyReLU(0.01),
            nn.Conv2d(dim, dim * 2, 4, 2, 1), nn.LeakyReLU(0.01))
        self.src = nn.Conv2d(dim * 2, 1, 3, padding=1)
        self.cls = nn.Linear(dim * 2, c_dim)

    def forward(self, x):
        h = self.body(x)
        return self.src(h), self.cls(h.mean(dim=(2, 3)))


class Solver(object):
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.G = Generator(cfg.dim, cfg.c_dim, cfg.n_blocks).to(self.device)
        self.D = Discriminator(cfg.dim, cfg.c_dim).to(self.device)
        self.g_opt = torch.optim.Adam(self.G.parameters(), 1e-4, (0.5, 0.999))
        self.d_opt = torch.optim.Adam(self.D.parameters(), 1e-4, (0.5, 0.999))
        self.out_dir = tempfile.mkdtemp(prefix="samples_")

    def batch(self):
        x = torch.rand(self.cfg.batch_size, 3, self.cfg.size, self.cfg.size) * 2 - 1
        label = torch.randint(0, self.cfg.c_dim, (self.cfg.batch_size,))
        return x.to(self.device), label.to(self.device)

    def onehot(self, label):
        return F.one_hot(label, self.cfg.c_dim).float()

    def sample(self, x_fixed, step):
        rows = [x_fixed]
        for k in range(self.cfg.c_dim):
            target_c = self.onehot(torch.full((x_fixed.size(0),), k, device=self.device))
            fake = self.G(x_fixed, target_c)[0]
            rows.append(fake)
        grid = torch.cat(rows, dim=3)
        path = os.path.join(self.out_dir, "%04d.png" % step)
        save_image((grid.data.cpu() + 1) / 2, path, nrow=1)
        print("saved", path)

    def train(self):
        x_fixed, _ = self.batch()
        for step in range(1, self.cfg.iters + 1):
            x, label = self.batch()
            trg = label[torch.randperm(label.size(0))]

            fake = self.G(x, self.onehot(trg))[0]
            real_src, real_cls = self.D(x)
            fake_src, _ = self.D(fake.detach())
            d_loss = fake_src.mean() - real_src.mean() + F.cross_entropy(real_cls, label)
            self.d_opt.zero_grad()
            d_loss.backward()
            self.d_opt.step()

            fake_src, fake_cls = self.D(fake)
            rec = self.G(fake, self.onehot(label))[0]
            g_loss = -fake_src.mean() + F.cross_entropy(fake_cls, trg) + 10 * (x - rec).abs().mean()
            self.g_opt.zero_grad()
            g_loss.backward()
            self.g_opt.step()

            print("[%d/%d] D %.4f  G %.4f" % (step, self.cfg.iters, d_loss.item(), g_loss.item()))
            if step % self.cfg.sample_every == 0:
                self.sample(x_fixed, step)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--c_dim", type=int, default=5)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--n_blocks", type=int, default=4)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--iters", type=int, default=6)
    parser.add_argument("--sample_every", type=int, default=3)
    torch.manual_seed(0)
    Solver(parser.parse_args()).train()
