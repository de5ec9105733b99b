import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CloudDataset(Dataset):
    """Satellite pictures with a mask for each of four cloud types."""

    def __init__(self, n, height, width):
        self.n, self.height, self.width = n, height, width

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        coarse = torch.rand(1, 4, 5, 7, generator=g)
        mask = (F.interpolate(coarse, size=(self.height, self.width), mode='bilinear', align_corners=False)[0] > 0.6).float()
        image = mask[:3] * 0.6 + 0.2 * mask[3] + 0.1 * torch.rand(3, self.height, self.width, generator=g)
        return image, mask


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class DecoderBlock(nn.Module):
    def __init__(self, cin, cskip, cout):
        super().__init__()
        self.block = DoubleConv(cin + cskip, cout)

    def forward(self, x, skip):
        x = F.interpolate(x, scale_factor=2, mode='nearest')
        x = torch.cat([x, skip], dim=1)
        return self.block(x)


class Unet(nn.Module):
    def __init__(self, classes, widths=(8, 8, 16, 16, 24, 32)):
        super().__init__()
        self.stem = DoubleConv(3, widths[0])
        self.encoder = nn.ModuleList(DoubleConv(a, b) for a, b in zip(widths, widths[1:]))
        self.pool = nn.MaxPool2d(2)
        rev = widths[::-1]
        self.decoder = nn.ModuleList(DecoderBlock(a, b, b) for a, b in zip(rev, rev[1:]))
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        features = [self.stem(x)]
        for stage in self.encoder:
            features.append(stage(self.pool(features[-1])))
        x = features.pop()
        for block in self.decoder:
            x = block(x, features.pop())
        return self.head(x)


def dice(logits, mask, eps=1e-6):
    pred = (logits > 0).float()
    inter = (pred * mask).sum((2, 3))
    return ((2 * inter + eps) / (pred.sum((2, 3)) + mask.sum((2, 3)) + eps)).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--height', type=int, default=350)
    parser.add_argument('--width', type=int, default=525)
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--batch-size', type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(CloudDataset(16, args.height, args.width), batch_size=args.batch_size, shuffle=True)
    model = Unet(classes=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(args.epochs):
        model.train()
        total, score = 0.0, 0.0
        for images, masks in train_loader:
            logits = model(images)
            loss = criterion(logits, masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            score += dice(logits.detach(), masks)
        print(f'epoch {epoch}: loss {total / len(train_loader):.4f} dice {score / len(train_loader):.4f}')


if __name__ == '__main__':
    main()
