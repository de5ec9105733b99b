import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

INPUT_DIM = 28 * 28
BATCH_SIZE = 128


class Encoder(nn.Module):
    def __init__(self, d_in, hidden, d_out):
        super().__init__()
        self.linear1 = nn.Linear(d_in, hidden)
        self.linear2 = nn.Linear(hidden, d_out)

    def forward(self, x):
        x = F.relu(self.linear1(x))
        return F.relu(self.linear2(x))


class Decoder(nn.Module):
    def __init__(self, d_in, hidden, d_out):
        super().__init__()
        self.linear1 = nn.Linear(d_in, hidden)
        self.linear2 = nn.Linear(hidden, d_out)

    def forward(self, z):
        z = F.relu(self.linear1(z))
        return torch.sigmoid(self.linear2(z))


class VAE(nn.Module):
    def __init__(self, encoder, decoder, enc_dim, latent_dim):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.enc_mu = nn.Linear(enc_dim, latent_dim)
        self.enc_log_sigma = nn.Linear(enc_dim, latent_dim)

    def sample_latent(self, h):
        mu = self.enc_mu(h)
        sigma = torch.exp(self.enc_log_sigma(h))
        self.z_mean, self.z_sigma = mu, sigma
        return mu + sigma * torch.randn_like(sigma)

    def forward(self, x):
        h = self.encoder(x)
        return self.decoder(self.sample_latent(h))


def latent_loss(z_mean, z_sigma):
    mean_sq, sigma_sq = z_mean * z_mean, z_sigma * z_sigma
    return 0.5 * torch.sum(mean_sq + sigma_sq - torch.log(sigma_sq) - 1, dim=1).mean()


def fake_digits(n):
    """Images with one bright bar each, values in [0, 1]."""
    images = torch.zeros(n, 1, 28, 28)
    for i in range(n):
        row = int(torch.randint(2, 22, (1,)))
        images[i, 0, row:row + 4, 4:24] = 0.8 + 0.2 * torch.rand(4, 20)
    return TensorDataset(images, torch.zeros(n, dtype=torch.long))


def main():
    torch.manual_seed(0)
    dataloader = DataLoader(fake_digits(512), batch_size=BATCH_SIZE, shuffle=True)
    encoder = Encoder(INPUT_DIM, 100, 100)
    decoder = Decoder(8, 100, INPUT_DIM)
    vae = VAE(encoder, decoder, enc_dim=100, latent_dim=8)
    criterion = nn.BCELoss(reduction="sum")
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
    for epoch in range(5):
        for inputs, _ in dataloader:
            dec = vae(inputs.view(-1, INPUT_DIM))
            ll = latent_loss(vae.z_mean, vae.z_sigma)
            loss = criterion(dec, inputs) / inputs.size(0) + ll
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")
    vae.eval()
    with torch.no_grad():
        generated = vae.decoder(torch.randn(4, 8)).view(4, 28, 28)
    print("generated", tuple(generated.shape), f"mean {generated.mean().item():.3f}")


if __name__ == "__main__":
    main()
