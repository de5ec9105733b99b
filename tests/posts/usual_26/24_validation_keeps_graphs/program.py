import math
import resource

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NoisyTextures(Dataset):
    """Pairs of a noisy and a clean texture for a denoising network."""

    def __init__(self, n, size=64, sigma=0.2, seed=0):
        self.n, self.size, self.sigma, self.seed = n, size, sigma, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_003 + i)
        fx, fy = (torch.rand(2, generator=g) * 12 + 2).tolist()
        axis = torch.linspace(0, 1, self.size)
        clean = 0.5 + 0.5 * torch.sin(2 * math.pi * (fx * axis[None, :] + fy * axis[:, None]))
        clean = clean.unsqueeze(0)
        return clean + self.sigma * torch.randn(clean.shape, generator=g), clean


class DnCNN(nn.Module):
    def __init__(self, depth=6, width=32):
        super().__init__()
        layers = [nn.Conv2d(1, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        layers.append(nn.Conv2d(width, 1, 3, padding=1))
        self.net = nn.Sequential(*layers)

    def forward(self, noisy):
        return noisy - self.net(noisy)


def psnr(restored, clean):
    mse = F.mse_loss(restored.clamp(0, 1), clean, reduction="none").flatten(1).mean(1)
    return (-10 * torch.log10(mse)).mean()


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for noisy, clean in loader:
        loss = F.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(model, loader):
    model.eval()
    restored, originals = [], []
    for noisy, clean in loader:
        output = model(noisy)
        restored.append(output)
        originals.append(clean)
    restored, originals = torch.cat(restored), torch.cat(originals)
    return F.l1_loss(restored, originals).item(), psnr(restored, originals).item()


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    torch.manual_seed(14)
    train_loader = DataLoader(NoisyTextures(48, seed=1), batch_size=8, shuffle=True)
    val_loader = DataLoader(NoisyTextures(96, seed=2), batch_size=8)
    model = DnCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 3):
        loss = train_epoch(model, train_loader, optimizer)
        after_train = peak_mb()
        l1, db = validate(model, val_loader)
        print(f"epoch {epoch}: mse {loss:.4f}, val L1 {l1:.4f}, PSNR {db:.2f} dB; "
              f"peak memory {after_train:.0f} MB after training, {peak_mb():.0f} MB after validation")


if __name__ == "__main__":
    main()
