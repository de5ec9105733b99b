"""VQ-VAE on synthetic ECG-like beats."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

LENGTH = 128


def beats(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, LENGTH)
    pos = 0.4 + 0.2 * torch.rand(n, 1, generator=g)
    amp = 0.8 + 0.6 * torch.rand(n, 1, generator=g)
    width = 0.015 + 0.02 * torch.rand(n, 1, generator=g)
    qrs = amp * torch.exp(-((t - pos) / width) ** 2)
    t_wave = 0.3 * torch.exp(-((t - pos - 0.22) / 0.06) ** 2)
    p_wave = 0.15 * torch.exp(-((t - pos + 0.15) / 0.03) ** 2)
    return (qrs + t_wave + p_wave + 0.02 * torch.randn(n, LENGTH, generator=g)).unsqueeze(1)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0 / n_codes, 1.0 / n_codes)
        self.beta = beta

    def forward(self, z):
        z = z.transpose(1, 2).contiguous()
        flat = z.reshape(-1, z.size(-1))
        dist = torch.cdist(flat, self.codebook.weight)
        codes = dist.argmin(dim=1)
        z_q = self.codebook(codes).view_as(z)

        z_q = z + (z_q - z).detach()
        codebook_loss = F.mse_loss(z_q, z.detach())
        commitment = F.mse_loss(z, z_q.detach())
        loss = codebook_loss + self.beta * commitment

        usage = torch.bincount(codes, minlength=self.codebook.num_embeddings).float()
        p = usage / usage.sum()
        perplexity = torch.exp(-(p * (p + 1e-10).log()).sum())
        return z_q.transpose(1, 2), loss, perplexity


class VQVAE(nn.Module):
    def __init__(self, dim=16, n_codes=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(32, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(32, dim, 3, padding=1),
        )
        self.vq = VectorQuantizer(n_codes, dim)
        self.decoder = nn.Sequential(
            nn.Conv1d(dim, 32, 3, padding=1), nn.ReLU(),
            nn.ConvTranspose1d(32, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose1d(32, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        z_q, vq_loss, perplexity = self.vq(self.encoder(x))
        return self.decoder(z_q), vq_loss, perplexity


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(beats(1024, 0)), batch_size=64, shuffle=True)
    test = beats(256, 1)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(1, 11):
        model.train()
        for (x,) in loader:
            recon, vq_loss, _ = model(x)
            loss = F.mse_loss(recon, x) / 0.05 + vq_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            recon, vq_loss, perplexity = model(test)
            mse = F.mse_loss(recon, test)
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d}  test mse {mse.item():.5f}  vq {vq_loss.item():.5f}  perplexity {perplexity.item():.1f}")


if __name__ == "__main__":
    main()
