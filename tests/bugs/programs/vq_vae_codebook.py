import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, beta=0.25):
        super().__init__()
        self.beta = beta
        self.codes = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codes.weight, -1 / n_codes, 1 / n_codes)

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.size(-1))
        dist = (
            flat.pow(2).sum(dim=1, keepdim=True)
            + self.codes.weight.pow(2).sum(dim=1)
            - 2 * flat @ self.codes.weight.t()
        )
        index = dist.argmin(dim=1)
        hot = torch.zeros_like(dist).scatter_(1, index.unsqueeze(1), 1)
        q = (hot @ self.codes.weight).view(z.shape)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(q.detach(), z)
        q = z + (q - z).detach()
        return q.permute(0, 3, 1, 2).contiguous(), loss, index.view(z.shape[:-1])


class Model(nn.Module):
    def __init__(self, dim=10, n_codes=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, dim, 4, 2, 1))
        self.vq = VectorQuantizer(n_codes, dim)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(dim, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1)
        )

    def forward(self, x):
        q, loss, index = self.vq(self.enc(x))
        return self.dec(q), loss, index


def example_inputs():
    return (torch.rand(2, 3, 24, 24),)
