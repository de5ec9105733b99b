import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SplAtConv(nn.Module):
    """Split attention block between the backbone and the detection head."""

    def __init__(self, channels, radix=2, reduction=4):
        super().__init__()
        inter = max(channels * radix // reduction, 16)
        self.radix, self.channels = radix, channels
        self.conv = nn.Conv2d(channels, channels * radix, 3, padding=1, groups=radix, bias=False)
        self.bn0 = nn.BatchNorm2d(channels * radix)
        self.fc1 = nn.Conv2d(channels, inter, 1)
        self.bn1 = nn.BatchNorm2d(inter)
        self.fc2 = nn.Conv2d(inter, channels * radix, 1)

    def forward(self, x):
        x = F.relu(self.bn0(self.conv(x)))
        splits = x.split(self.channels, dim=1)
        gap = F.adaptive_avg_pool2d(sum(splits), 1)
        gap = F.relu(self.bn1(self.fc1(gap)))
        atten = self.fc2(gap).view(len(x), self.radix, self.channels).softmax(1)
        return sum(a[:, :, None, None] * s for a, s in zip(atten.unbind(1), splits))


def conv_block(cin, cout, stride):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
                         nn.BatchNorm2d(cout), nn.LeakyReLU(0.1))


class YoloAttention(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone = nn.Sequential(conv_block(3, 16, 2), conv_block(16, 32, 2), conv_block(32, 64, 2))
        self.attention = SplAtConv(64)
        self.head = nn.Conv2d(64, 5 + num_classes, 1)

    def forward(self, x):
        return self.head(self.attention(self.backbone(x)))


def yolo_loss(pred, target):
    obj = target[:, 0]
    loss_obj = F.binary_cross_entropy_with_logits(pred[:, 0], obj)
    mask = obj.bool()
    p = pred.permute(0, 2, 3, 1)[mask]
    t = target.permute(0, 2, 3, 1)[mask]
    return loss_obj + F.mse_loss(p[:, 1:5].sigmoid(), t[:, 1:5]) + F.cross_entropy(p[:, 5:], t[:, 5].long())


def make_data(n, seed, size=64, classes=3):
    rng = np.random.RandomState(seed)
    images = rng.rand(n, 3, size, size).astype(np.float32) * 0.2
    grid = size // 8
    targets = np.zeros((n, 6, grid, grid), dtype=np.float32)
    for i in range(n):
        c = rng.randint(classes)
        gy, gx = rng.randint(grid, size=2)
        images[i, c, gy * 8:gy * 8 + 8, gx * 8:gx * 8 + 8] = 1
        targets[i, :, gy, gx] = [1, 0.5, 0.5, 0.2, 0.2, c]
    return torch.from_numpy(images), torch.from_numpy(targets)


def detect(model, image, threshold=0.5):
    with torch.no_grad():
        pred = model(image.unsqueeze(0))[0]
    scores = pred[0].sigmoid()
    found = (scores > threshold).nonzero()
    return [(int(y), int(x), int(pred[5:, y, x].argmax())) for y, x in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--batch-size', type=int, default=16)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*make_data(320, 0)), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = YoloAttention()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        for images, targets in loader:
            optimizer.zero_grad()
            loss = yolo_loss(model(images), targets)
            loss.backward()
            optimizer.step()
        print(f'epoch {epoch}: {loss.item():.4f}')

    images, _ = make_data(5, 1)
    for i, image in enumerate(images):
        print(i, detect(model, image))


if __name__ == '__main__':
    main()
