import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class AerialImages(Dataset):
    """1024 x 1024 RGB tiles with a land-use class."""

    def __init__(self, n_tiles=3, size=1024):
        rng = np.random.RandomState(7)
        self.tiles = rng.randint(0, 256, (n_tiles, size, size, 3)).astype(np.uint8)
        self.labels = rng.randint(0, 5, n_tiles)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, idx):
        img = self.tiles[idx].astype(np.float32) / 255.0
        img = torch.from_numpy(img).unsqueeze(0)
        return img, int(self.labels[idx])


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super(ConvBlock, self).__init__()
        self.conv = nn.Conv2d(cin, cout, kernel_size=3, stride=2, padding=1)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class Encoder(nn.Module):
    def __init__(self, num_classes=5):
        super(Encoder, self).__init__()
        self.stem = ConvBlock(3, 8)
        self.body = nn.Sequential(ConvBlock(8, 16), ConvBlock(16, 32), ConvBlock(32, 32))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        x = self.body(self.stem(x))
        return self.fc(self.pool(x).flatten(1))


if __name__ == '__main__':
    loader = DataLoader(AerialImages(), batch_size=1, shuffle=True)
    net = Encoder()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for i, (image, label) in enumerate(loader):
        optimizer.zero_grad()
        out = net(image)
        loss = criterion(out, label)
        loss.backward()
        optimizer.step()
        print('tile %d: loss %.3f' % (i, loss.item()))
