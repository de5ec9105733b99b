import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

HR_SIZE, SCALE = 24, 2


def render(n, seed):
    g = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:HR_SIZE, 0:HR_SIZE] / HR_SIZE
    a = g.uniform(0, np.pi, n)[:, None, None]
    f = g.uniform(1, 4, n)[:, None, None]
    p = g.uniform(0, 2 * np.pi, n)[:, None, None]
    img = 0.5 + 0.4 * np.sin(2 * np.pi * f * (np.cos(a) * xx + np.sin(a) * yy) + p)
    return torch.tensor(img, dtype=torch.float32).unsqueeze(1)


class HighRes(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


class LowRes(HighRes):
    def __getitem__(self, i):
        return F.avg_pool2d(self.images[i][None], SCALE)[0]


class ESPCN(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 5, padding=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, SCALE ** 2, 3, padding=1), nn.PixelShuffle(SCALE),
        )

    def forward(self, x):
        return F.interpolate(x, scale_factor=SCALE, mode="bilinear", align_corners=False) + self.body(x)


def psnr(model, lr_loader, hr_loader):
    model.eval()
    se = count = 0
    with torch.no_grad():
        for lr, hr in zip(lr_loader, hr_loader):
            se += (model(lr) - hr).pow(2).sum().item()
            count += hr.numel()
    return 10 * np.log10(1.0 / (se / count))


def main():
    torch.manual_seed(0)
    train, val = render(640, seed=1), render(120, seed=2)
    lr_train = DataLoader(LowRes(train), batch_size=32, shuffle=True, drop_last=True)
    hr_train = DataLoader(HighRes(train), batch_size=32, shuffle=True, drop_last=True)
    lr_val = DataLoader(LowRes(val), batch_size=40)
    hr_val = DataLoader(HighRes(val), batch_size=40)
    model = ESPCN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    print(f"untrained: val PSNR {psnr(model, lr_val, hr_val):.2f} dB")
    for epoch in range(10):
        model.train()
        total = 0.0
        for lr, hr in zip(lr_train, hr_train):
            loss = F.l1_loss(model(lr), hr)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: L1 {total / len(lr_train):.4f}  val PSNR {psnr(model, lr_val, hr_val):.2f} dB")


if __name__ == "__main__":
    main()
