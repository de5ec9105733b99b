import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class StreetScenes(Dataset):
    def __init__(self, n, crop_size, num_classes=4):
        self.n, self.crop_size, self.num_classes = n, crop_size, num_classes

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        logits = torch.rand(1, self.num_classes, 4, 4, generator=g)
        mask = F.interpolate(logits, size=(self.crop_size, self.crop_size), mode='bilinear', align_corners=False)[0].argmax(0)
        colours = torch.tensor([[0.1, 0.2, 0.1], [0.5, 0.5, 0.5], [0.8, 0.2, 0.2], [0.3, 0.5, 0.9]])
        image = colours[mask].permute(2, 0, 1) + 0.05 * torch.randn(3, self.crop_size, self.crop_size, generator=g)
        return image, mask


class ConvBNReLU(nn.Sequential):
    def __init__(self, cin, cout, k=3, s=1):
        super().__init__(nn.Conv2d(cin, cout, k, s, k // 2, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True))


class PositionAttention(nn.Module):
    def __init__(self, in_channels, reduced_channels, out_channels):
        super().__init__()
        self.reduce = ConvBNReLU(in_channels, reduced_channels, 1)
        self.attention = nn.Sequential(
            ConvBNReLU(reduced_channels, reduced_channels, 1),
            nn.Conv2d(reduced_channels, out_channels, 1, bias=False))

    def forward(self, x):
        reduced = self.reduce(x)
        attention = self.attention(reduced)
        n, c, h, w = attention.size()
        attention = attention.view(n, c, -1)
        reduced = reduced.view(n, -1, h * w)
        mixed = torch.bmm(reduced, torch.softmax(attention, dim=1))
        return mixed.view(n, -1, h, w)


class PointwiseSpatialAttention(nn.Module):
    def __init__(self, in_channels, feature_size=12):
        super().__init__()
        reduced_channels = in_channels // 2
        self.collect_attention = PositionAttention(in_channels, reduced_channels, feature_size ** 2)
        self.distribute_attention = PositionAttention(in_channels, reduced_channels, feature_size ** 2)

    def forward(self, x):
        return torch.cat([self.collect_attention(x), self.distribute_attention(x)], dim=1)


class PSANet(nn.Module):
    def __init__(self, nclass, width=32):
        super().__init__()
        self.base = nn.Sequential(ConvBNReLU(3, 16, 3, 2), ConvBNReLU(16, 32, 3, 2), ConvBNReLU(32, width, 3, 2))
        self.psa = PointwiseSpatialAttention(width)
        self.project = ConvBNReLU(width, width, 1)
        self.classifier = nn.Sequential(ConvBNReLU(2 * width, width), nn.Dropout(0.1), nn.Conv2d(width, nclass, 1))

    def forward(self, x):
        size = x.shape[2:]
        c4 = self.base(x)
        out = self.project(self.psa(c4))
        out = self.classifier(torch.cat([c4, out], dim=1))
        return F.interpolate(out, size, mode='bilinear', align_corners=True)


def parse_args():
    parser = argparse.ArgumentParser(description='Semantic segmentation training')
    parser.add_argument('--crop-size', type=int, default=128)
    parser.add_argument('--batch-size', type=int, default=4)
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--lr', type=float, default=0.02)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(StreetScenes(64, args.crop_size), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = PSANet(nclass=4)
    criterion = nn.CrossEntropyLoss(ignore_index=-1)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    for epoch in range(args.epochs):
        correct = total = 0
        for images, targets in train_loader:
            outputs = model(images)
            loss = criterion(outputs, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (outputs.argmax(1) == targets).sum().item()
            total += targets.numel()
        print(f'epoch {epoch}: loss {loss.item():.4f} pixAcc {correct / total:.3f}')


if __name__ == '__main__':
    main()
