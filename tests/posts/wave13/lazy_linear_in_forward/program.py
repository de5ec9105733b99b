import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class AuxNet(nn.Module):
    """scores the row-wise pieces of a feature map and weights the map with them"""

    def __init__(self, num_pieces):
        super().__init__()
        self.num_pieces = num_pieces

    def forward(self, x):
        n, c, h, w = x.size()
        self.linear = nn.Linear(w, w, bias=False)
        pieces = F.adaptive_avg_pool2d(x, (self.num_pieces, w))
        weight = torch.sigmoid(self.linear(pieces))
        weight = F.interpolate(weight, size=(h, w), mode='nearest')
        return x * weight


class SNet(nn.Module):
    def __init__(self, num_pieces=4, num_classes=3):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, 32, 5, 1, 2, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Dropout(0.2),
            AuxNet(num_pieces),
            nn.Conv2d(32, 32, 3, 1, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True))
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.classifier(self.main(x).mean(dim=(2, 3)))


def stripes(n, size=16, seed=0):
    """horizontal, vertical and diagonal stripes with noise"""
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    labels = torch.randint(0, 3, (n,), generator=g)
    phase = torch.rand(n, generator=g) * 6.28
    coords = torch.stack([yy, xx, (yy + xx) / 1.41])[labels]
    wave = torch.sin(coords * 1.2 + phase[:, None, None])
    images = wave[:, None] + 0.5 * torch.randn(n, 3, size, size, generator=g)
    return images, labels


def train(net, images, labels, epochs=4):
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    net.train()
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(images)).split(32):
            loss = F.cross_entropy(net(images[idx]), labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print('epoch %d loss %.4f' % (epoch + 1, total / len(images)))


def evaluate(net, images, labels):
    net.eval()
    with torch.no_grad():
        return (net(images).argmax(1) == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    images, labels = stripes(320, seed=1)
    test_images, test_labels = stripes(120, seed=2)

    net = SNet()
    train(net, images, labels)
    print('test accuracy %.3f' % evaluate(net, test_images, test_labels))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'snet.pth')
        torch.save(net.state_dict(), path)
        restored = SNet()
        restored.load_state_dict(torch.load(path))
    print('restored accuracy %.3f' % evaluate(restored, test_images, test_labels))


if __name__ == '__main__':
    main()
