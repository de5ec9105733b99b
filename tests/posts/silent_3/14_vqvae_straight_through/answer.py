import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, n=1500, length=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, length)
        freq = torch.randint(1, 5, (n, 1), generator=g).float()
        phase = torch.rand(n, 1, generator=g) * 2 * math.pi
        amp = 0.5 + torch.rand(n, 1, generator=g)
        self.x = amp * torch.sin(2 * math.pi * freq * t + phase)
        self.x = (self.x + 0.03 * torch.randn(n, length, generator=g)).unsqueeze(1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


class VectorQuantizer(nn.Module):
    def __init__(self, num_codes=64, dim=16, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(num_codes, dim)
        self.codebook.weight.data.uniform_(-0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        z = z.permute(0, 2, 1)
        d = torch.cdist(z.reshape(-1, z.shape[-1]), self.codebook.weight)
        codes = d.argmin(dim=1).view(z.shape[:2])
        z_q = self.codebook(codes)
        vq_loss = F.mse_loss(z_q, z.detach()) + self.beta * F.mse_loss(z, z_q.detach())
        z_q = z + (z_q - z).detach()
        return z_q.permute(0, 2, 1), vq_loss, codes


class VQVAE(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(32, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Conv1d(32, dim, 1),
        )
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(
            nn.Conv1d(dim, 32, 3, padding=1), nn.ReLU(),
            nn.ConvTranspose1d(32, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose1d(32, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        z_q, vq_loss, codes = self.vq(self.encoder(x))
        return self.decoder(z_q), vq_loss, codes


torch.manual_seed(0)
loader = DataLoader(Waves(), batch_size=64, shuffle=True)
test = Waves(300, seed=1).x
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(15):
    model.train()
    for x in loader:
        recon, vq_loss, _ = model(x)
        loss = F.mse_loss(recon, x) + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            recon, vq, codes = model(test)
        print(f"epoch {epoch + 1}: test recon {F.mse_loss(recon, test):.4f}  vq {vq:.4f}  codes used {codes.unique().numel()}")
