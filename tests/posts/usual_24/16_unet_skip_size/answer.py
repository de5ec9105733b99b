import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class DoubleConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(),
            nn.Conv2d(out_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(),
        )

    def forward(self, x):
        return self.block(x)


class UNet(nn.Module):
    def __init__(self, n_channels=3, n_classes=1):
        super().__init__()
        self.down1 = DoubleConv(n_channels, 16)
        self.down2 = DoubleConv(16, 32)
        self.bottom = DoubleConv(32, 64)
        self.up2 = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.dec2 = DoubleConv(64, 32)
        self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.dec1 = DoubleConv(32, 16)
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        b = self.bottom(F.max_pool2d(d2, 2))
        u2 = self.up2(b)
        u2 = F.interpolate(u2, size=d2.shape[2:], mode="bilinear", align_corners=False)
        u2 = self.dec2(torch.cat([d2, u2], dim=1))
        u1 = self.up1(u2)
        u1 = F.interpolate(u1, size=d1.shape[2:], mode="bilinear", align_corners=False)
        u1 = self.dec1(torch.cat([d1, u1], dim=1))
        return self.outc(u1)


class CellDataset(Dataset):
    def __init__(self, n=32, size=(74, 90)):
        g = torch.Generator().manual_seed(0)
        self.images = torch.rand(n, 3, *size, generator=g)
        self.masks = (self.images.mean(1, keepdim=True) > 0.5).float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(CellDataset(), batch_size=4, shuffle=True)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(2):
        model.train()
        for image, mask in loader:
            optimizer.zero_grad()
            loss = criterion(model(image), mask)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1} | loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
