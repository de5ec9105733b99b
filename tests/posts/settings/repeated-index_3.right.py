# line 16: sums[codes] += vectors keeps one vector per code, though many vectors of a batch have the same code
import torch
from torch import nn


class EMACodebook(nn.Module):
    def __init__(self, codes=8, dim=12, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("book", torch.randn(codes, dim))
        self.register_buffer("mass", torch.ones(codes))
        self.register_buffer("moment", self.book.clone())

    def refresh(self, vectors, codes):
        sums = torch.zeros_like(self.book)
        sums.index_add_(0, codes, vectors)
        used = torch.bincount(codes, minlength=len(self.book)).to(sums.dtype)
        self.mass.mul_(self.decay).add_(used, alpha=1 - self.decay)
        self.moment.mul_(self.decay).add_(sums, alpha=1 - self.decay)
        self.book.copy_(self.moment / self.mass.clamp(min=1e-3)[:, None])

    def forward(self, z):
        codes = torch.cdist(z, self.book).argmin(dim=1)
        quantised = self.book[codes]
        if self.training:
            with torch.no_grad():
                self.refresh(z, codes)
        commitment = (z - quantised.detach()).pow(2).mean()
        return z + (quantised - z).detach(), commitment


class VQAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(30, 24), nn.ReLU(), nn.Linear(24, 12))
        self.vq = EMACodebook()
        self.dec = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 30))

    def forward(self, x):
        quantised, commitment = self.vq(self.enc(x))
        return self.dec(quantised), commitment


torch.manual_seed(0)
centres = torch.randn(6, 30)
data = centres[torch.randint(6, (512,))] + 0.1 * torch.randn(512, 30)
ae = VQAutoencoder()
opt = torch.optim.Adam(ae.parameters(), lr=2e-3)
for epoch in range(6):
    total = 0.0
    for x in data[torch.randperm(512)].split(64):
        recon, commitment = ae(x)
        loss = (recon - x).pow(2).mean() + 0.25 * commitment
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
    print(epoch, total / len(data))
