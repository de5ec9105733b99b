import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from torch.utils.data import DataLoader, Dataset


class NoisyPhotos(Dataset):
    def __init__(self, n=64, size=48):
        yy, xx = np.mgrid[0:size, 0:size] / size
        rng = np.random.default_rng(0)
        self.clean = np.stack([
            np.stack([np.sin(rng.uniform(2, 12) * xx + rng.uniform(2, 12) * yy) for _ in range(3)])
            for _ in range(n)]).astype(np.float32)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = torch.from_numpy(self.clean[i])
        return clean + 0.2 * torch.randn_like(clean), clean


def cut_patches(image, k):
    N1, C, H, W = image.shape
    windows = image.unfold(2, k, k).unfold(3, k, k)
    x = windows.reshape(N1, C, -1)
    N2 = (H // k) * (W // k)
    return rearrange(x, 'N1 C (N2 k1 k2) -> (N1 N2) C k1 k2', k1=k, k2=k, N2=N2)


class PatchDenoiser(nn.Module):
    def __init__(self, channels=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
            nn.Conv2d(channels, 3, 3, padding=1))

    def forward(self, x):
        return x - self.body(x)


def psnr(a, b):
    return (10 * torch.log10(4 / F.mse_loss(a, b))).item()


torch.manual_seed(0)
k = 8
loader = DataLoader(NoisyPhotos(), batch_size=4, shuffle=True)
model = PatchDenoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    for noisy, clean in loader:
        noisy_patches = cut_patches(noisy, k)
        clean_patches = cut_patches(clean, k)
        loss = F.mse_loss(model(noisy_patches), clean_patches)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'loss', loss.item(), noisy_patches.shape)

model.eval()
with torch.no_grad():
    noisy, clean = next(iter(loader))
    print('PSNR noisy', psnr(noisy, clean), 'denoised', psnr(model(noisy), clean))
