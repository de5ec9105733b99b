import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class OldPhotographs(Dataset):
    """Scans of archive photographs, stored as single band arrays."""

    def __init__(self, n_images=24, size=64, scale_factor=2):
        self.scale_factor = scale_factor
        gen = torch.Generator().manual_seed(11)
        yy, xx = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
        self.scans = []
        for _ in range(n_images):
            a, b, c = torch.rand(3, generator=gen) * 12
            scan = 0.5 + 0.25 * torch.sin(a * xx + c) + 0.25 * torch.cos(b * yy)
            self.scans.append(scan.clamp(0, 1))

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, idx):
        hr = self.scans[idx].unsqueeze(0)
        lr = F.interpolate(hr[None], scale_factor=1 / self.scale_factor, mode="bicubic", antialias=True)[0]
        return lr.clamp(0, 1), hr


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.PReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return x + self.body(x)


class SRResNet(nn.Module):
    def __init__(self, scale_factor, channels=3, width=32, n_blocks=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 9, padding=4), nn.PReLU())
        self.blocks = nn.Sequential(*[ResidualBlock(width) for _ in range(n_blocks)])
        self.merge = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))
        self.upsample = nn.Sequential(
            nn.Conv2d(width, width * scale_factor ** 2, 3, padding=1),
            nn.PixelShuffle(scale_factor),
            nn.PReLU(),
        )
        self.final = nn.Conv2d(width, channels, 9, padding=4)

    def forward(self, x):
        low = self.stem(x)
        out = self.merge(self.blocks(low)) + low
        return self.final(self.upsample(out))


def psnr(pred, target):
    mse = F.mse_loss(pred.clamp(0, 1), target)
    return (10 * torch.log10(1.0 / mse)).item()


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    scores = []
    for lr_img, hr_img in loader:
        with torch.set_grad_enabled(optimizer is not None):
            sr = model(lr_img)
            loss = F.l1_loss(sr, hr_img)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scores.append(psnr(sr.detach(), hr_img))
    return sum(scores) / len(scores)


if __name__ == "__main__":
    torch.manual_seed(0)
    scale_factor = 2
    dataset = OldPhotographs(scale_factor=scale_factor)
    train_set, val_set = random_split(dataset, [20, 4])
    train_loader = DataLoader(train_set, batch_size=4, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=1)

    model = SRResNet(scale_factor, channels=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        train_psnr = run_epoch(model, train_loader, optimizer)
        val_psnr = run_epoch(model, val_loader)
        print(f"epoch {epoch + 1}: train PSNR {train_psnr:.2f} val PSNR {val_psnr:.2f}")
