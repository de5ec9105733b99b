import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def blobs(n, size=16):
    """Grey images of one Gaussian spot at a random position."""
    grid = torch.arange(size).float()
    cx = torch.rand(n, 1, 1) * (size - 6) + 3
    cy = torch.rand(n, 1, 1) * (size - 6) + 3
    d = (grid.view(1, 1, -1) - cx) ** 2 + (grid.view(1, -1, 1) - cy) ** 2
    return torch.exp(-d / 8.0).view(n, 1, size, size)


class VAE(nn.Module):
    def __init__(self, pixels=256, hidden=128, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(pixels, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(),
            nn.Linear(hidden, pixels), nn.Sigmoid(),
            nn.Unflatten(1, (1, 16, 16)),
        )

    def reparameterise(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterise(mu, logvar)), mu, logvar


def elbo_terms(recon_x, x, mu, logvar):
    recon = F.mse_loss(recon_x, x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return recon, kl


def main():
    parser = argparse.ArgumentParser(description="VAE on spots")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(blobs(1600)), batch_size=args.batch_size, shuffle=True)
    test = blobs(200)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        sums = [0.0, 0.0]
        for (x,) in loader:
            optimizer.zero_grad()
            recon_x, mu, logvar = model(x)
            recon, kl = elbo_terms(recon_x, x, mu, logvar)
            loss = recon + kl
            loss.backward()
            optimizer.step()
            sums[0] += recon.item() * len(x)
            sums[1] += kl.item() * len(x)
        if (epoch + 1) % 4 == 0:
            print(f"epoch {epoch + 1:2d} recon {sums[0] / 1600:.4f} kl {sums[1] / 1600:.4f}")

    model.eval()
    with torch.no_grad():
        out, _, _ = model(test)
    print(f"spread between reconstructions {out.std(dim=0).mean():.4f}, between images {test.std(dim=0).mean():.4f}")


if __name__ == "__main__":
    main()
