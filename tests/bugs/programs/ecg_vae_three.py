import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, length=96, hid=8, z_dim=6):
        super().__init__()
        self.steps = length // 4
        self.hid = hid
        self.flat = 2 * hid * self.steps
        self.encoder = nn.Sequential(
            nn.Conv1d(1, hid, 4, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Conv1d(hid, hid, 4, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Flatten(),
        )
        self.fc_mu = nn.Linear(self.flat, z_dim)
        self.fc_logvar = nn.Linear(self.flat, z_dim // 2)
        self.fc_z = nn.Linear(z_dim, self.flat)
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(z_dim, hid, 4, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.ConvTranspose1d(hid, 1, 4, stride=2, padding=1),
        )

    def reparameterize(self, mu, logvar):
        eps = torch.randn_like(mu)
        return mu + eps * torch.exp(0.5 * logvar)

    def forward(self, x):
        h = self.encoder(x)
        mu = self.fc_mu(h)
        logvar = self.fc_logvar(h)
        z = self.reparameterize(mu, logvar)
        h = self.fc_z(z).view(-1, 2 * self.hid, self.steps)
        recon = self.decoder(h)
        kld = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(dim=1)
        rec = (recon - x).square().sum(dim=(1, 2))
        return recon, (rec + kld).mean()


def example_inputs():
    return (torch.randn(5, 1, 96),)
