import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VanillaVAE(nn.Module):
    def __init__(self, in_channels=3, latent_dim=32, hidden_dims=None):
        super().__init__()
        if hidden_dims is None:
            hidden_dims = [32, 64, 128, 256, 512]
        hidden_dims = list(hidden_dims)
        self.latent_dim = latent_dim

        modules = []
        channels = in_channels
        for h_dim in hidden_dims:
            modules.append(nn.Sequential(
                nn.Conv2d(channels, h_dim, kernel_size=3, stride=2, padding=1),
                nn.BatchNorm2d(h_dim),
                nn.LeakyReLU(),
            ))
            channels = h_dim
        self.encoder = nn.Sequential(*modules)
        self.fc_mu = nn.Linear(hidden_dims[-1] * 4, latent_dim)
        self.fc_var = nn.Linear(hidden_dims[-1] * 4, latent_dim)

        self.decoder_input = nn.Linear(latent_dim, hidden_dims[-1] * 4)
        hidden_dims.reverse()
        self.top_dim = hidden_dims[0]
        modules = []
        for cin, cout in zip(hidden_dims[:-1], hidden_dims[1:]):
            modules.append(nn.Sequential(
                nn.ConvTranspose2d(cin, cout, 3, stride=2, padding=1, output_padding=1),
                nn.BatchNorm2d(cout),
                nn.LeakyReLU(),
            ))
        self.decoder = nn.Sequential(*modules)
        self.final_layer = nn.Sequential(
            nn.ConvTranspose2d(hidden_dims[-1], hidden_dims[-1], 3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(hidden_dims[-1]),
            nn.LeakyReLU(),
            nn.Conv2d(hidden_dims[-1], in_channels, kernel_size=3, padding=1),
            nn.Tanh(),
        )

    def encode(self, x):
        h = torch.flatten(self.encoder(x), start_dim=1)
        return self.fc_mu(h), self.fc_var(h)

    def decode(self, z):
        h = self.decoder_input(z)
        h = h.view(-1, self.top_dim, 2, 2)
        return self.final_layer(self.decoder(h))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    def loss_function(self, recons, x, mu, logvar, kld_weight):
        recons_loss = F.mse_loss(recons, x)
        kld = torch.mean(-0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp(), dim=1))
        return recons_loss + kld_weight * kld


def faces(n, size=64):
    t = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(t, t, indexing="ij")
    center = torch.rand(n, 2) - 0.5
    disk = ((yy - center[:, :1, None]) ** 2 + (xx - center[:, 1:, None]) ** 2 < 0.2).float()
    colour = torch.rand(n, 3, 1, 1)
    return disk[:, None] * colour * 2 - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden_dims", type=int, nargs="+", default=[16, 32, 64, 128, 256])
    parser.add_argument("--latent_dim", type=int, default=32)
    parser.add_argument("--batch_size", type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(1265)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = faces(96)
    loader = DataLoader(TensorDataset(data), batch_size=args.batch_size, shuffle=True)
    model = VanillaVAE(3, args.latent_dim, args.hidden_dims).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        for (x,) in loader:
            x = x.to(device)
            recons, mu, logvar = model(x)
            loss = model.loss_function(recons, x, mu, logvar, args.batch_size / len(data) * 1e-3)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch %d loss %.4f" % (epoch, loss.item()))


if __name__ == "__main__":
    main()
