import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class CrossViewPairs(Dataset):
    """(drone view, satellite view, building id)"""

    def __init__(self, n=20, size=96, classes=6):
        g = torch.Generator().manual_seed(11)
        self.drone = torch.rand(n, 3, size, size, generator=g)
        self.sat = torch.rand(n, 3, size, size, generator=g)
        self.label = torch.randint(0, classes, (n,), generator=g)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.drone[i], self.sat[i], self.label[i]


class KeypointAttention(nn.Module):
    """Unit subtraction attention: response of a pixel against its neighbourhood."""

    def __init__(self, channels, polish=True):
        super().__init__()
        self.polish = polish
        self.local = nn.Conv2d(channels, 1, kernel_size=3, padding=1)
        self.mean = nn.AvgPool2d(3, stride=1, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x):
        att = self.local(x)
        att = self.relu(att - self.mean(att))
        if self.polish:
            att = att.clone()
            att[:, :, :, 0] = 0
            att[:, :, :, -1] = 0
            att[:, :, 0, :] = 0
            att[:, :, -1, :] = 0
        return x + x * att


class TwoViewNet(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 5, stride=2, padding=2), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.attention = KeypointAttention(width)
        self.fc = nn.Linear(width, classes)

    def embed(self, x):
        return self.attention(self.stem(x)).amax(dim=(2, 3))

    def forward(self, a, b):
        return self.fc(self.embed(a)), self.fc(self.embed(b))


parser = argparse.ArgumentParser(description='Training')
parser.add_argument('--batchsize', default=8, type=int)
parser.add_argument('--lr', default=0.01, type=float)
parser.add_argument('--epochs', default=1, type=int)
opt = parser.parse_args()

dataset = CrossViewPairs()
loader = DataLoader(dataset, batch_size=opt.batchsize, shuffle=True)
model = TwoViewNet(classes=6)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=opt.lr, momentum=0.9, nesterov=True)

for epoch in range(opt.epochs):
    running = 0.0
    for drone, sat, label in loader:
        out_d, out_s = model(drone, sat)
        loss = criterion(out_d, label) + criterion(out_s, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(label)
    print('epoch %d  loss %.4f' % (epoch, running / len(dataset)))
