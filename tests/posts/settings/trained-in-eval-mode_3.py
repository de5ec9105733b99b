# line 21: sample() of the VAE puts it in evaluation and nothing puts it back, so later epochs train without batch statistics
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, inputs=25, latent=3):
        super().__init__()
        self.latent = latent
        self.enc = nn.Sequential(nn.Linear(inputs, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, inputs))

    def forward(self, x):
        mu, log_var = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)
        return self.dec(z), mu, log_var

    @torch.no_grad()
    def sample(self, n):
        self.eval()
        return torch.sigmoid(self.dec(torch.randn(n, self.latent)))


def elbo(logits, x, mu, log_var):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    kl = -0.5 * (1 + log_var - mu.square() - log_var.exp()).sum(1)
    return (rec + kl).mean()


torch.manual_seed(0)
digits = (torch.rand(8, 25) > 0.5).float()[torch.randint(8, (400,))]
digits = torch.where(torch.rand(400, 25) < 0.05, 1 - digits, digits)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
vae.train()
for epoch in range(5):
    total = 0.0
    for x in torch.utils.data.DataLoader(digits, batch_size=40, shuffle=True):
        logits, mu, log_var = vae(x)
        loss = elbo(logits, x, mu, log_var)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
    gallery = vae.sample(16)
    print(f"epoch {epoch} -elbo {total / 400:.2f} ink {gallery.mean():.3f}")
