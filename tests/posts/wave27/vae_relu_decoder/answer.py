import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from torchvision import transforms


class Encoder(nn.Module):
    def __init__(self, D_in, H, D_out):
        super(Encoder, self).__init__()
        self.linear1 = nn.Linear(D_in, H)
        self.linear2 = nn.Linear(H, D_out)

    def forward(self, x):
        x = F.relu(self.linear1(x))
        return F.relu(self.linear2(x))


class Decoder(nn.Module):
    def __init__(self, D_in, H, D_out):
        super(Decoder, self).__init__()
        self.linear1 = nn.Linear(D_in, H)
        self.linear2 = nn.Linear(H, D_out)

    def forward(self, z):
        z = F.relu(self.linear1(z))
        return self.linear2(z)


class VAE(nn.Module):
    def __init__(self, encoder, decoder, hidden, latent_dim):
        super(VAE, self).__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.enc_mu = nn.Linear(hidden, latent_dim)
        self.enc_log_var = nn.Linear(hidden, latent_dim)

    def sample_latent(self, h):
        self.mu = self.enc_mu(h)
        self.log_var = self.enc_log_var(h)
        eps = torch.randn_like(self.mu)
        return self.mu + torch.exp(0.5 * self.log_var) * eps

    def forward(self, x):
        return self.decoder(self.sample_latent(self.encoder(x)))


def latent_loss(mu, log_var):
    return -0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp(), dim=1)


def load_images():
    digits = load_digits().images.astype("float32") / 16.0
    normalize = transforms.Normalize((0.5,), (0.5,))
    return normalize(torch.from_numpy(digits).unsqueeze(1))


def main():
    torch.manual_seed(0)
    images = load_images()
    input_dim = images[0].numel()
    batch_size = 64
    loader = DataLoader(TensorDataset(images), batch_size=batch_size, shuffle=True)

    encoder = Encoder(input_dim, 128, 64)
    decoder = Decoder(8, 128, input_dim)
    vae = VAE(encoder, decoder, 64, 8)
    optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)

    for epoch in range(12):
        rec_total, kl_total = 0.0, 0.0
        for (inputs,) in loader:
            inputs = inputs.view(-1, input_dim)
            outputs = vae(inputs)
            rec = F.mse_loss(outputs, inputs, reduction="none").sum(dim=1).mean()
            kl = latent_loss(vae.mu, vae.log_var).mean()
            loss = rec + kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rec_total += rec.item()
            kl_total += kl.item()
        print(f"epoch {epoch}: reconstruction {rec_total / len(loader):.3f}  kl {kl_total / len(loader):.3f}")

    vae.eval()
    with torch.no_grad():
        generated = decoder(torch.randn(16, 8))
        print("data range", images.min().item(), images.max().item())
        print("generated range", generated.min().item(), generated.max().item())


if __name__ == "__main__":
    main()
