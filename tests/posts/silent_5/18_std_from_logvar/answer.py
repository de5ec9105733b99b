import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent)
        self.logvar = nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 144))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        logits = self.dec(self.reparameterize(mu, logvar))
        return logits.view_as(x), mu, logvar


def elbo_loss(logits, x, mu, logvar):
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return recon, kl


images = torch.zeros(1500, 1, 12, 12)
for img in images:
    r, c = torch.randint(0, 8, (2,)).tolist()
    img[0, r:r + 4, c:c + 4] = 1.0
loader = DataLoader(images, batch_size=50, shuffle=True)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(10):
    vae.train()
    sum_recon = sum_kl = 0.0
    for x in loader:
        logits, mu, logvar = vae(x)
        recon, kl = elbo_loss(logits, x, mu, logvar)
        optimizer.zero_grad()
        ((recon + kl) / len(x)).backward()
        optimizer.step()
        sum_recon += recon.item()
        sum_kl += kl.item()
    print(f"epoch {epoch} recon {sum_recon / 1500:.2f} kl {sum_kl / 1500:.2f}")
vae.eval()
with torch.no_grad():
    samples = torch.sigmoid(vae.dec(torch.randn(8, 4))).view(8, 12, 12)
print("mean brightness of samples", samples.mean().item())
