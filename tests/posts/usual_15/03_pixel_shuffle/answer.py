import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

# Course project: single image super resolution with an ESPCN-like network
SCALE = 4
HR = 48


class PatternPatches(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.linspace(0, 1, HR), torch.linspace(0, 1, HR), indexing="ij")
        self.images = []
        for _ in range(n):
            fx, fy, ph = torch.rand(3, generator=g) * 12
            colors = torch.rand(3, 1, 1, generator=g)
            img = 0.5 + 0.5 * torch.sin(fx * xx + fy * yy + ph)
            self.images.append((colors * img).clamp(0, 1))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        hr = self.images[i]
        lr = F.interpolate(hr.unsqueeze(0), scale_factor=1 / SCALE, mode="area").squeeze(0)
        return lr, hr


class ESPCN(nn.Module):
    def __init__(self, channels=3, scale=SCALE, width=32):
        super().__init__()
        self.head = nn.Sequential(
            nn.Conv2d(channels, width, 5, padding=2),
            nn.Tanh(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.Tanh(),
        )
        self.to_subpixels = nn.Conv2d(width, channels * scale ** 2, 3, padding=1)
        self.shuffle = nn.PixelShuffle(scale)

    def forward(self, x):
        x = self.head(x)
        x = self.to_subpixels(x)
        x = self.shuffle(x)
        return torch.sigmoid(x)


def psnr(a, b):
    return -10 * math.log10(F.mse_loss(a, b).item() + 1e-12)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(PatternPatches(160, 1), batch_size=16, shuffle=True)
    test_loader = DataLoader(PatternPatches(32, 2), batch_size=16)
    model = ESPCN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for lr_img, hr_img in train_loader:
            sr = model(lr_img)
            loss = F.mse_loss(sr, hr_img)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            scores = [psnr(model(a), b) for a, b in test_loader]
        print(f"epoch {epoch}: loss {total / len(train_loader):.4f}  PSNR {sum(scores) / len(scores):.2f} dB")


if __name__ == "__main__":
    main()
