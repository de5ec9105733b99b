import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)


def synth_profiles(n, n_genes=60, n_programs=4):
    """Expression profiles driven by a few latent programs."""
    load = torch.randn(n_programs, n_genes, generator=torch.Generator().manual_seed(1))
    z = torch.randn(n, n_programs)
    return torch.tanh(z @ load) + 0.1 * torch.randn(n, n_genes)


class Encoder(nn.Module):
    def __init__(self, d_in, hidden, d_z):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, d_z)
        self.logvar = nn.Linear(hidden, d_z)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h)


class Decoder(nn.Module):
    def __init__(self, d_z, hidden, d_out):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_z, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                  nn.Linear(hidden, d_out))

    def forward(self, z):
        return self.body(z)


class GeneVAE(nn.Module):
    def __init__(self, d_in=60, hidden=128, d_z=8):
        super().__init__()
        self.encoder = Encoder(d_in, hidden, d_z)
        self.decoder = Decoder(d_z, hidden, d_in)
        self.d_z = d_z

    def reparameterize(self, mu, logvar):
        std = torch.exp(logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = self.reparameterize(mu, logvar)
        return self.decoder(z), mu, logvar

    @torch.no_grad()
    def sample(self, n):
        return self.decoder(torch.randn(n, self.d_z))


def elbo(recon, x, mu, logvar, beta, sigma2=0.1):
    rec = F.mse_loss(recon, x, reduction="none").sum(1) / (2 * sigma2)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
    return (rec + beta * kl).mean(), rec.mean(), kl.mean()


def beta_at(epoch, warmup=5):
    return min(1.0, (epoch + 1) / warmup)


data = synth_profiles(2400)
train, test = data[:2000], data[2000:]
loader = DataLoader(TensorDataset(train), batch_size=50, shuffle=True)
vae = GeneVAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)

for epoch in range(15):
    vae.train()
    stats = torch.zeros(3)
    for (x,) in loader:
        recon, mu, logvar = vae(x)
        loss, rec, kl = elbo(recon, x, mu, logvar, beta_at(epoch))
        opt.zero_grad()
        loss.backward()
        opt.step()
        stats += torch.stack([loss, rec, kl]).detach()
    if epoch % 5 == 4:
        l, r, k = (stats / len(loader)).tolist()
        print(f"epoch {epoch + 1}: loss {l:.3f} rec {r:.3f} kl {k:.3f}")

vae.eval()
with torch.no_grad():
    recon, mu, logvar = vae(test)
    loss, rec, kl = elbo(recon, test, mu, logvar, 1.0)
print(f"test -elbo {loss.item():.3f} (rec {rec.item():.3f}, kl {kl.item():.3f})")
gen = vae.sample(2000)
print(f"std of real data {test.std().item():.3f}, of generated {gen.std().item():.3f}")
