import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self, dim=36, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent)
        self.logvar = nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, dim))

    def reparameterize(self, mu, logvar):
        std = torch.exp(logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(recon, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kld) / x.size(0)


torch.manual_seed(30)
grid = torch.arange(6)
rows, cols = torch.randint(0, 6, (2, 1000))
pictures = ((grid.view(1, 6, 1) == rows.view(-1, 1, 1)) | (grid.view(1, 1, 6) == cols.view(-1, 1, 1))).float()
loader = DataLoader(pictures.flatten(1), batch_size=50, shuffle=True)

vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)

for epoch in range(20):
    vae.train()
    total = 0.0
    for x in loader:
        recon, mu, logvar = vae(x)
        loss = vae_loss(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * x.size(0)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: negative elbo {total / len(pictures):.3f}")

vae.eval()
with torch.no_grad():
    samples = torch.sigmoid(vae.dec(torch.randn(4, 4))).view(4, 6, 6)
print((samples > 0.5).int().sum(dim=(1, 2)).tolist())
