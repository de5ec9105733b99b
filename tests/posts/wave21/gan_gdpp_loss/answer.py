import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    def __init__(self, dim_latent=32, width=32):
        super().__init__()
        self.start = nn.Linear(dim_latent, width * 4 * 4)
        self.width = width
        self.body = nn.Sequential(
            nn.Upsample(scale_factor=2),
            nn.Conv2d(width, width, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(width, width, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, 3, 1), nn.Tanh())

    def forward(self, z):
        x = self.start(z).view(-1, self.width, 4, 4)
        return self.body(F.leaky_relu(x, 0.2))


class Discriminator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, width * 2, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(width * 2 * 4 * 4, 64), nn.LeakyReLU(0.2))
        self.decision = nn.Linear(64, 1)

    def forward(self, x, get_feature=False):
        feat = self.features(x)
        out = self.decision(feat)
        return (out, feat) if get_feature else out


def diversity_loss(phi_fake, phi_real):
    def spectrum(phi):
        phi = F.normalize(phi, dim=1)
        vals, vecs = torch.linalg.eigh(phi @ phi.t())
        return vals, vecs

    fake_vals, fake_vecs = spectrum(phi_fake)
    real_vals, real_vecs = spectrum(phi_real)
    magnitude = F.mse_loss(fake_vals, real_vals.detach())
    span = real_vals.max() - real_vals.min()
    weights = ((real_vals - real_vals.min()) / span).detach()
    structure = -(weights * F.cosine_similarity(fake_vecs, real_vecs.detach(), dim=0)).sum()
    return magnitude + structure


class GANTrainer:
    def __init__(self, args):
        self.dim_latent = args.dim_latent
        self.use_gdpp = args.GDPP
        self.net_g = Generator(args.dim_latent)
        self.net_d = Discriminator()
        self.opt_g = optim.Adam(self.net_g.parameters(), lr=args.lr, betas=(0.0, 0.99))
        self.opt_d = optim.Adam(self.net_d.parameters(), lr=args.lr, betas=(0.0, 0.99))

    def sample(self, n):
        return self.net_g(torch.randn(n, self.dim_latent))

    def step_discriminator(self, real):
        self.opt_d.zero_grad()
        fake = self.sample(real.size(0)).detach()
        loss = F.softplus(-self.net_d(real)).mean() + F.softplus(self.net_d(fake)).mean()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def step_generator(self, real):
        self.opt_g.zero_grad()
        fake = self.sample(real.size(0))
        pred, phi_fake = self.net_d(fake, get_feature=True)
        loss_fake = F.softplus(-pred).mean()
        loss_fake.backward(retain_graph=True)
        total = loss_fake.item()
        if self.use_gdpp:
            _, phi_real = self.net_d(real, get_feature=True)
            loss_div = diversity_loss(phi_fake, phi_real)
            loss_div.backward()
            total += loss_div.item()
        self.opt_g.step()
        return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--dim-latent", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--GDPP", type=lambda s: s.lower() == "true", default=True)
    args = parser.parse_args()

    torch.manual_seed(0)
    images = torch.tanh(F.interpolate(torch.randn(128, 3, 4, 4), size=16, mode="bilinear"))
    loader = DataLoader(TensorDataset(images), batch_size=args.batch_size, shuffle=True, drop_last=True)

    trainer = GANTrainer(args)
    for epoch in range(args.epochs):
        for i, (real,) in enumerate(loader):
            loss_d = trainer.step_discriminator(real)
            loss_g = trainer.step_generator(real)
        print("[%d] loss D %.4f  loss G %.4f" % (epoch, loss_d, loss_g))


if __name__ == "__main__":
    main()
