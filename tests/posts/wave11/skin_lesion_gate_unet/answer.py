import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SkinLesions(Dataset):
    """dermoscopic images, a quarter of their size, and the mask of the lesion"""

    def __init__(self, n, height=95, width=127):
        rng = np.random.RandomState(0)
        self.items = []
        yy, xx = np.mgrid[:height, :width]
        for _ in range(n):
            cy, cx, r = rng.randint(30, 65), rng.randint(40, 90), rng.randint(12, 28)
            mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).astype(np.float32)
            image = 0.7 - 0.4 * mask[None] + 0.1 * rng.randn(3, height, width)
            self.items.append((image.astype(np.float32), mask[None]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, mask = self.items[i]
        image, mask = torch.from_numpy(image), torch.from_numpy(mask)
        pad = (0, 128 - image.shape[2], 0, 128 - image.shape[1])
        image, mask = F.pad(image, pad), F.pad(mask, pad)
        return image, mask


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class SpatialGate(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.shape = nn.Sequential(nn.Conv2d(channels, channels // 2, 1), nn.ReLU(inplace=True), nn.Conv2d(channels // 2, 1, 1))

    def forward(self, x):
        return x * torch.sigmoid(self.shape(x))


class Decoder(nn.Module):
    def __init__(self, cin, cskip, cout):
        super().__init__()
        self.conv = nn.Sequential(conv_bn(cin + cskip, cout), SpatialGate(cout))

    def forward(self, x, skip):
        x = F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=True)
        return self.conv(torch.cat([x, skip], dim=1))


class ShapeUNet(nn.Module):
    def __init__(self, num_classes=1, base=16):
        super().__init__()
        self.encoder1 = conv_bn(3, base, stride=2)
        self.encoder2 = conv_bn(base, base * 2, stride=2)
        self.encoder3 = conv_bn(base * 2, base * 4, stride=2)
        self.decoder2 = Decoder(base * 4, base * 2, base * 2)
        self.decoder1 = Decoder(base * 2, base, base)
        self.final = nn.Sequential(conv_bn(base, base), nn.Conv2d(base, num_classes, 1))

    def forward(self, x):
        e1 = self.encoder1(x)
        e2 = self.encoder2(e1)
        e3 = self.encoder3(e2)
        d2 = self.decoder2(e3, e2)
        d1 = self.decoder1(d2, e1)
        d0 = F.interpolate(d1, scale_factor=2, mode='bilinear', align_corners=True)
        return self.final(d0)


def dice(pred, target, eps=1e-6):
    pred = (torch.sigmoid(pred) > 0.5).float()
    inter = (pred * target).sum((1, 2, 3))
    return ((2 * inter + eps) / (pred.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean().item()


if __name__ == '__main__':
    torch.manual_seed(0)
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    loader = DataLoader(SkinLesions(12), batch_size=1, shuffle=True)
    net = ShapeUNet().to(device)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(3):
        losses, scores = [], []
        for image, mask in loader:
            image, mask = image.to(device), mask.to(device)
            output = net(image)
            loss = criterion(output, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            scores.append(dice(output, mask))
        print(f'epoch {epoch}: loss {np.mean(losses):.4f}  dice {np.mean(scores):.4f}')
