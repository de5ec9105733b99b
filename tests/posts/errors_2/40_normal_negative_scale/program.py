import torch
import torch.nn as nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
LATENT = 3


class VAE(nn.Module):
    def __init__(self, n_in, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, hidden), nn.Tanh(), nn.Linear(hidden, n_in))

    def forward(self, x):
        mu, sigma = self.encoder(x).chunk(2, dim=-1)
        posterior = Normal(mu, sigma)
        z = posterior.rsample()
        return self.decoder(z), posterior


def elbo_loss(x, x_hat, posterior, beta=0.5):
    recon = ((x - x_hat) ** 2).sum(dim=1).mean()
    prior = Normal(torch.zeros_like(posterior.loc), torch.ones_like(posterior.scale))
    kl = kl_divergence(posterior, prior).sum(dim=1).mean()
    return recon + beta * kl, recon, kl


factors = torch.randn(800, LATENT)
data = torch.tanh(factors @ torch.randn(LATENT, 20)) + 0.05 * torch.randn(800, 20)
loader = DataLoader(TensorDataset(data), batch_size=80, shuffle=True)

vae = VAE(20)
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)

for epoch in range(5):
    for (x,) in loader:
        x_hat, posterior = vae(x)
        loss, recon, kl = elbo_loss(x, x_hat, posterior)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} recon {recon.item():.3f} kl {kl.item():.3f}")
