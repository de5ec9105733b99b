import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def blob_images(n, side=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    axis = torch.linspace(0, 1, side)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    cx, cy = (0.2 + 0.6 * torch.rand(2, n, 1, 1, generator=g))
    size = 0.006 + 0.03 * torch.rand(n, 1, 1, generator=g)
    image = torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / size)
    return image.clamp(0, 1).flatten(1)


class VAE(nn.Module):
    def __init__(self, pixels, hidden=128, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def encode(self, x):
        h = self.encoder(x)
        return self.to_mu(h), self.to_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.decoder(z)), mu, logvar


def elbo_terms(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce, kld


def main():
    torch.manual_seed(0)
    images = blob_images(2000)
    test = blob_images(400, seed=1)
    loader = DataLoader(TensorDataset(images), batch_size=64, shuffle=True)
    model = VAE(images.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(20):
        model.train()
        sums = torch.zeros(2)
        for (x,) in loader:
            recon, mu, logvar = model(x)
            bce, kld = elbo_terms(recon, x, mu, logvar)
            loss = bce + kld
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += torch.stack([bce, kld]).detach()
        if epoch % 4 == 3:
            model.eval()
            with torch.no_grad():
                mu, _ = model.encode(test)
                mse = F.mse_loss(torch.sigmoid(model.decoder(mu)), test).item()
                active = (mu.var(dim=0) > 0.05).sum().item()
            print(f"epoch {epoch + 1:2d}  bce {sums[0] / len(loader):10.4f}  kld {sums[1] / len(loader):9.4f}  "
                  f"test mse {mse:.4f}  active latents {active}/6")

    with torch.no_grad():
        samples = torch.sigmoid(model.decoder(torch.randn(200, 6)))
    print(f"pixel variance across samples {samples.var(dim=0).mean():.4f}, across data {images.var(dim=0).mean():.4f}")


if __name__ == "__main__":
    main()
