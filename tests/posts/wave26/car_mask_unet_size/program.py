import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CarDataset(Dataset):
    def __init__(self, count, height, width):
        g = torch.Generator().manual_seed(1)
        self.images = torch.rand(count, 3, height, width, generator=g)
        self.masks = (self.images[:, :1] > 0.5).float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class ConvBlock(nn.Module):
    def __init__(self, ch_in, ch_out):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(ch_in, ch_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(ch_out),
            nn.ReLU(inplace=True),
            nn.Conv2d(ch_out, ch_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(ch_out),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.conv(x)


class UpConcat(nn.Module):
    def __init__(self, ch_in, ch_out):
        super().__init__()
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2),
            nn.Conv2d(ch_in, ch_out, 3, padding=1),
            nn.BatchNorm2d(ch_out),
            nn.ReLU(inplace=True),
        )

    def forward(self, x, skip):
        x = self.up(x)
        return torch.cat([skip, x], dim=1)


class UNet(nn.Module):
    def __init__(self, img_ch=3, output_ch=1, width=8):
        super().__init__()
        w = width
        self.pool = nn.MaxPool2d(2, stride=2)
        self.conv1 = ConvBlock(img_ch, w)
        self.conv2 = ConvBlock(w, 2 * w)
        self.conv3 = ConvBlock(2 * w, 4 * w)
        self.conv4 = ConvBlock(4 * w, 8 * w)
        self.up4 = UpConcat(8 * w, 4 * w)
        self.dec4 = ConvBlock(8 * w, 4 * w)
        self.up3 = UpConcat(4 * w, 2 * w)
        self.dec3 = ConvBlock(4 * w, 2 * w)
        self.up2 = UpConcat(2 * w, w)
        self.dec2 = ConvBlock(2 * w, w)
        self.out = nn.Conv2d(w, output_ch, 1)

    def forward(self, x):
        x1 = self.conv1(x)
        x2 = self.conv2(self.pool(x1))
        x3 = self.conv3(self.pool(x2))
        x4 = self.conv4(self.pool(x3))
        d4 = self.dec4(self.up4(x4, x3))
        d3 = self.dec3(self.up3(d4, x2))
        d2 = self.dec2(self.up2(d3, x1))
        return self.out(d2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--height", type=int, default=172)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--num_epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(CarDataset(8, args.height, args.width), args.batch_size, shuffle=True)
    unet = UNet().to(device)
    optimizer = torch.optim.Adam(unet.parameters(), 2e-3, betas=(0.5, 0.999))
    for epoch in range(args.num_epochs):
        for images, masks in loader:
            logits = unet(images.to(device))
            loss = F.binary_cross_entropy_with_logits(logits, masks.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("Epoch [%d/%d] loss %.4f" % (epoch + 1, args.num_epochs, loss.item()))


if __name__ == "__main__":
    main()
