import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    """Small style generator: z -> w (mapping), w -> image (synthesis)."""

    def __init__(self, latent_dim=64, channels=32):
        super().__init__()
        self.latent_dim = latent_dim
        self.mapping = nn.Sequential(
            nn.Linear(latent_dim, latent_dim), nn.LeakyReLU(0.2),
            nn.Linear(latent_dim, latent_dim), nn.LeakyReLU(0.2),
        )
        self.fc = nn.Linear(latent_dim, channels * 4 * 4)
        self.synthesis = nn.Sequential(
            nn.ConvTranspose2d(channels, channels, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(channels // 2, 3, 4, 2, 1), nn.Tanh(),
        )
        self.channels = channels

    def mean_latent(self, n):
        z = torch.randn(n, self.latent_dim)
        return self.mapping(z).mean(0, keepdim=True)

    def forward(self, w):
        x = self.fc(w).view(-1, self.channels, 4, 4)
        return self.synthesis(x)


class Encoder(nn.Module):
    def __init__(self, latent_dim=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(6, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.PReLU(16),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.PReLU(32),
            nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.PReLU(64),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(64, latent_dim),
        )

    def forward(self, x):
        return self.body(x)


class Coach:
    def __init__(self, args):
        self.args = args
        self.encoder = Encoder()
        self.decoder = Generator()
        self.latent_avg = self.decoder.mean_latent(2000).detach()
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=args.lr)
        with torch.no_grad():
            self.avg_image = self.decoder(self.latent_avg)

    def step(self, x):
        """Several refinement passes over one batch, one backward for each."""
        self.optimizer.zero_grad()
        losses = []
        latent, y_hat = None, None
        for it in range(self.args.n_iters_per_batch):
            if it == 0:
                previous = self.avg_image.expand(x.size(0), -1, -1, -1)
                codes = self.encoder(torch.cat([x, previous], dim=1)) + self.latent_avg
            else:
                previous = y_hat.detach()
                codes = self.encoder(torch.cat([x, previous], dim=1)) + latent.detach()
            y_hat, latent = self.decoder(codes), codes
            loss = F.mse_loss(y_hat, x) + 0.1 * F.l1_loss(y_hat, x)
            loss.backward()
            losses.append(loss.item())
        self.optimizer.step()
        return losses

    def train(self, loader):
        self.encoder.train()
        self.decoder.eval()
        for epoch in range(self.args.epochs):
            for i, (x,) in enumerate(loader):
                losses = self.step(x)
                if i % 4 == 0:
                    print(f"epoch {epoch} step {i}: " + " ".join(f"{v:.4f}" for v in losses))


def make_images(n=128, seed=0):
    g = torch.Generator().manual_seed(seed)
    base = torch.rand(n, 3, 4, 4, generator=g) * 2 - 1
    return F.interpolate(base, size=(32, 32), mode="bilinear", align_corners=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--n_iters_per_batch", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    loader = DataLoader(TensorDataset(make_images()), batch_size=args.batch_size, shuffle=True, drop_last=True)
    Coach(args).train(loader)


if __name__ == "__main__":
    main()
