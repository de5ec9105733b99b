import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PatchDataset(Dataset):
    """Luminance patches: smooth waves, low resolution by area averaging."""

    def __init__(self, count, scale, patch=48, seed=0):
        rng = np.random.RandomState(seed)
        grid = np.linspace(0, 2 * np.pi, patch)
        yy, xx = np.meshgrid(grid, grid, indexing="ij")
        self.high = []
        for _ in range(count):
            fy, fx = rng.uniform(1, 6, 2)
            a, b = rng.uniform(0, 2 * np.pi, 2)
            img = 0.5 + 0.25 * np.sin(fy * yy + a) + 0.25 * np.sin(fx * xx + b)
            self.high.append(img.astype(np.float32))
        self.scale = scale

    def __len__(self):
        return len(self.high)

    def __getitem__(self, index):
        high = torch.from_numpy(self.high[index]).unsqueeze(0)
        low = F.avg_pool2d(high, self.scale)
        return low, high


class ESPCN(nn.Module):
    def __init__(self, scale):
        super(ESPCN, self).__init__()
        self.conv1 = nn.Conv2d(1, 32, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(32, 16, kernel_size=3, padding=1)
        self.conv3 = nn.Conv2d(16, scale ** 2, kernel_size=3, padding=1)
        self.pixel_shuffle = nn.PixelShuffle(scale)

    def forward(self, x):
        x = torch.tanh(self.conv1(x))
        x = torch.tanh(self.conv2(x))
        x = self.pixel_shuffle(self.conv3(x))
        return x


def psnr(output, target):
    mse = np.mean((output.numpy() - target.numpy()) ** 2)
    return 10 * math.log10(1.0 / mse)


def train(model, loader, optimizer, criterion, device):
    model.train()
    running = 0.0
    for low, high in loader:
        low, high = low.to(device), high.to(device)
        optimizer.zero_grad()
        loss = criterion(model(low), high)
        loss.backward()
        optimizer.step()
        running += loss.item() * low.size(0)
    return running / len(loader.dataset)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    scores = []
    for low, high in loader:
        output = model(low.to(device)).clamp(0, 1).cpu()
        scores += [psnr(o, h) for o, h in zip(output, high)]
    return sum(scores) / len(scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="ESPCN")
    parser.add_argument("--upscale_factor", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--n_epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    opt = parser.parse_args()

    torch.manual_seed(123)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(PatchDataset(192, opt.upscale_factor, seed=1), opt.batch_size, shuffle=True)
    val_loader = DataLoader(PatchDataset(32, opt.upscale_factor, seed=2), opt.batch_size)

    model = ESPCN(opt.upscale_factor).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    criterion = nn.MSELoss()
    for epoch in range(1, opt.n_epochs + 1):
        loss = train(model, train_loader, optimizer, criterion, device)
        print("===> Epoch {}: loss {:.5f}, PSNR {:.2f} dB".format(epoch, loss, validate(model, val_loader, device)))
