import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class ScanDataset(Dataset):
    """grey scans of 256 x 256, scaled to -1 .. 1"""

    def __init__(self, n=8, size=256, seed=0):
        rng = np.random.RandomState(seed)
        self.scans = (rng.rand(n, size, size) * 255).astype(np.uint8)

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, index):
        scan = torch.from_numpy(self.scans[index].astype(np.float32))
        return scan.unsqueeze(0) / 127.5 - 1, 0


class Quantize(nn.Module):
    def __init__(self, dim, n_embed, decay=0.99, eps=1e-5):
        super().__init__()
        self.dim, self.n_embed, self.decay, self.eps = dim, n_embed, decay, eps
        embed = torch.randn(dim, n_embed)
        self.register_buffer('embed', embed)
        self.register_buffer('cluster_size', torch.zeros(n_embed))
        self.register_buffer('embed_avg', embed.clone())

    def forward(self, input):
        flat = input.reshape(-1, self.dim)
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed + self.embed.pow(2).sum(0, keepdim=True)
        ind = dist.argmin(1)
        onehot = F.one_hot(ind, self.n_embed).type(flat.dtype)
        quantize = F.embedding(ind.view(*input.shape[:-1]), self.embed.t())
        if self.training:
            self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
            self.embed_avg.mul_(self.decay).add_((flat.t() @ onehot).detach(), alpha=1 - self.decay)
            n = self.cluster_size.sum()
            size = (self.cluster_size + self.eps) / (n + self.n_embed * self.eps) * n
            self.embed.copy_(self.embed_avg / size.unsqueeze(0))
        diff = (quantize.detach() - input).pow(2).mean()
        return input + (quantize - input).detach(), diff


class VQVAE(nn.Module):
    def __init__(self, in_channel=3, channel=128, embed_dim=64, n_embed=512):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(in_channel, channel // 2, 4, stride=2, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(channel // 2, channel, 4, stride=2, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(channel, channel, 3, padding=1))
        self.quantize_conv = nn.Conv2d(channel, embed_dim, 1)
        self.quantize = Quantize(embed_dim, n_embed)
        self.dec = nn.Sequential(
            nn.Conv2d(embed_dim, channel, 3, padding=1), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(channel, channel // 2, 4, stride=2, padding=1), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(channel // 2, in_channel, 4, stride=2, padding=1))

    def forward(self, input):
        h = self.quantize_conv(self.enc(input)).permute(0, 2, 3, 1)
        quant, diff = self.quantize(h)
        return self.dec(quant.permute(0, 3, 1, 2)), diff


def train(epoch, loader, model, optimizer, device, latent_loss_weight=0.25):
    criterion = nn.MSELoss()
    for i, (img, label) in enumerate(loader):
        model.zero_grad()
        img = img.to(device)
        out, latent_loss = model(img)
        recon_loss = criterion(out, img)
        loss = recon_loss + latent_loss_weight * latent_loss
        loss.backward()
        optimizer.step()
        print('epoch: %d; mse: %.5f; latent: %.3f' % (epoch + 1, recon_loss.item(), latent_loss.item()))


if __name__ == '__main__':
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    loader = DataLoader(ScanDataset(), batch_size=4, shuffle=True)
    model = VQVAE(in_channel=1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    for epoch in range(1):
        train(epoch, loader, model, optimizer, device)
