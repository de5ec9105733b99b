"""VAE with a learned mixture-of-Gaussians prior on a toy image set."""
import argparse

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import kl_divergence
from torch.utils.data import DataLoader, TensorDataset


def bars(n, side=8):
    x = torch.zeros(n, side, side)
    for i in range(n):
        k = int(torch.randint(0, side, ()))
        if torch.rand(()) < 0.5:
            x[i, k, :] = 1.0
        else:
            x[i, :, k] = 1.0
    return x.flatten(1)


class MixturePrior(nn.Module):
    def __init__(self, n_components, latent):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(n_components))
        self.mu = nn.Parameter(torch.randn(n_components, latent))
        self.log_sigma = nn.Parameter(torch.zeros(n_components, latent))

    def forward(self):
        comp = D.Independent(D.Normal(self.mu, self.log_sigma.exp()), 1)
        return D.MixtureSameFamily(D.Categorical(logits=self.logits), comp)


class VAE(nn.Module):
    def __init__(self, n_in=64, hidden=128, latent=4, n_components=10):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, hidden), nn.ELU(), nn.Linear(hidden, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ELU(), nn.Linear(hidden, n_in))
        self.prior = MixturePrior(n_components, latent)

    def posterior(self, x):
        mu, log_sigma = self.enc(x).chunk(2, dim=-1)
        return D.Independent(D.Normal(mu, log_sigma.clamp(-6, 3).exp()), 1)

    def elbo(self, x, beta=1.0):
        q = self.posterior(x)
        z = q.rsample()
        log_px = -F.binary_cross_entropy_with_logits(self.dec(z), x, reduction="none").sum(-1)
        p = self.prior()
        kl = kl_divergence(q, p)
        return (log_px - beta * kl).mean(), log_px.mean(), kl.mean()

    @torch.no_grad()
    def sample(self, n):
        return torch.sigmoid(self.dec(self.prior().sample((n,))))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--warmup", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(bars(1024)), batch_size=128, shuffle=True)
    held_out = bars(256)
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        beta = min(1.0, (epoch + 1) / args.warmup)
        for (x,) in loader:
            opt.zero_grad()
            elbo, rec, kl = vae.elbo(x, beta)
            (-elbo).backward()
            opt.step()
        with torch.no_grad():
            test_elbo, _, test_kl = vae.elbo(held_out)
        print(f"epoch {epoch:2d}  rec {rec:8.2f}  kl {kl:6.2f}  test elbo {test_elbo:8.2f} (kl {test_kl:.2f})")

    print("mean pixel of 100 samples:", vae.sample(100).mean().item())


if __name__ == "__main__":
    main()
