import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=32, dim=8, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        distance = torch.cdist(z, self.codebook.weight)
        codes = distance.argmin(dim=-1)
        q = self.codebook(codes)
        vq_loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, vq_loss, codes


class VQVAE(nn.Module):
    def __init__(self, data_dim=16, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(data_dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, data_dim))

    def forward(self, x):
        q, vq_loss, codes = self.vq(self.encoder(x))
        return self.decoder(q), vq_loss, codes


torch.manual_seed(0)
centers = 2 * torch.randn(20, 16)
data = centers[torch.randint(0, 20, (2000,))] + 0.1 * torch.randn(2000, 16)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 31):
    used = set()
    total = 0.0
    for idx in torch.randperm(len(data)).split(100):
        recon, vq_loss, codes = model(data[idx])
        recon_loss = F.mse_loss(recon, data[idx])
        loss = recon_loss + vq_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += recon_loss.item() * len(idx)
        used.update(codes.tolist())
    if epoch % 10 == 0:
        print(f"epoch {epoch}: recon {total / len(data):.4f}, codes used {len(used)}")
