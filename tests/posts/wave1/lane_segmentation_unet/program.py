import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

device = torch.device('cuda:0')


class RoadScenes(Dataset):
    def __init__(self, n=10, size=128):
        rng = np.random.RandomState(0)
        self.x = rng.rand(n, 3, size, size).astype('float32')
        self.y = (rng.rand(n, size, size) > 0.7).astype('int64')

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class DoubleConv(nn.Module):
    def __init__(self, in_channels, features):
        super(DoubleConv, self).__init__()
        self.features = features
        self.conv1 = nn.Conv2d(in_channels, features, 3, padding='same')
        self.conv2 = nn.Conv2d(features, features, 3, padding='same')

    def forward(self, x):
        x = self.conv1(x)
        x = nn.BatchNorm2d(num_features=self.features)(x)
        x = F.relu(x, inplace=True)
        x = self.conv2(x)
        return F.relu(x, inplace=True)


class UNet(nn.Module):
    def __init__(self, in_channels=3, num_classes=2, f=16):
        super(UNet, self).__init__()
        self.down1 = DoubleConv(in_channels, f)
        self.down2 = DoubleConv(f, 2 * f)
        self.bottom = DoubleConv(2 * f, 4 * f)
        self.upconv2 = nn.ConvTranspose2d(4 * f, 2 * f, 2, stride=2)
        self.up2 = DoubleConv(4 * f, 2 * f)
        self.upconv1 = nn.ConvTranspose2d(2 * f, f, 2, stride=2)
        self.up1 = DoubleConv(2 * f, f)
        self.head = nn.Conv2d(f, num_classes, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        b = self.bottom(F.max_pool2d(d2, 2))
        u2 = self.up2(torch.cat([self.upconv2(b), d2], dim=1))
        u1 = self.up1(torch.cat([self.upconv1(u2), d1], dim=1))
        return self.head(u1)


model = UNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(RoadScenes(), batch_size=4, shuffle=True)

for epoch in range(2):
    model.train()
    for img, mask in loader:
        img, mask = img.to(device), mask.to(device)
        logits = model(img)
        loss = F.cross_entropy(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'loss', loss.item())
