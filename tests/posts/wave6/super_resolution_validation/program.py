import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
UPSCALE = 2


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.prelu = nn.PReLU()

    def forward(self, x):
        return x + self.bn2(self.conv2(self.prelu(self.bn1(self.conv1(x)))))


class Generator(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.head = nn.Sequential(nn.Conv2d(3, channels, 9, padding=4), nn.PReLU())
        self.body = nn.Sequential(ResidualBlock(channels), ResidualBlock(channels))
        self.tail = nn.Sequential(nn.Conv2d(channels, channels * 4, 3, padding=1), nn.PixelShuffle(UPSCALE), nn.PReLU(),
                                  nn.Conv2d(channels, 3, 9, padding=4))

    def forward(self, x):
        x = self.head(x)
        return (torch.tanh(self.tail(x + self.body(x))) + 1) / 2


def ssim(a, b, window=7):
    mu_a, mu_b = F.avg_pool2d(a, window, 1), F.avg_pool2d(b, window, 1)
    var_a = F.avg_pool2d(a * a, window, 1) - mu_a ** 2
    var_b = F.avg_pool2d(b * b, window, 1) - mu_b ** 2
    cov = F.avg_pool2d(a * b, window, 1) - mu_a * mu_b
    c1, c2 = 0.01 ** 2, 0.03 ** 2
    return (((2 * mu_a * mu_b + c1) * (2 * cov + c2)) / ((mu_a ** 2 + mu_b ** 2 + c1) * (var_a + var_b + c2))).mean()


def pairs(n, size):
    hr = F.interpolate(torch.rand(n, 3, size // 4, size // 4), size=(size, size), mode="bilinear", align_corners=False)
    lr = F.interpolate(hr, scale_factor=1 / UPSCALE, mode="bicubic", align_corners=False)
    return TensorDataset(lr, hr)


train_loader = DataLoader(pairs(32, 32), batch_size=8, shuffle=True)
val_loader = DataLoader(pairs(16, 48), batch_size=1)
netG = Generator()
optimizerG = torch.optim.Adam(netG.parameters())

for epoch in range(1, 3):
    netG.train()
    for data, target in train_loader:
        g_loss = F.mse_loss(netG(data), target)
        netG.zero_grad()
        g_loss.backward()
        optimizerG.step()

    netG.eval()
    valing_results = {"mse": 0, "ssims": 0, "psnr": 0, "ssim": 0, "batch_sizes": 0}
    val_images = []
    for val_lr, val_hr in val_loader:
        batch_size = val_lr.size(0)
        valing_results["batch_sizes"] += batch_size
        with torch.no_grad():
            lr = val_lr
            hr = val_hr
        sr = netG(lr)
        batch_mse = ((sr - hr) ** 2).data.mean()
        valing_results["mse"] += batch_mse * batch_size
        batch_ssim = ssim(sr, hr)
        valing_results["ssims"] += batch_ssim * batch_size
        valing_results["psnr"] = 10 * math.log10(1 / (valing_results["mse"] / valing_results["batch_sizes"]))
        valing_results["ssim"] = (valing_results["ssims"] / valing_results["batch_sizes"]).item()
        val_images.append(sr.data.clamp(0, 1))
    print("epoch %d PSNR %.3f dB SSIM %.4f" % (epoch, valing_results["psnr"], valing_results["ssim"]))
