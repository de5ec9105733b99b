import numpy as np
import torch
import torch.nn as nn
from torch import optim


class double_conv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
            nn.Conv2d(out_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.inc = double_conv(n_channels, 16)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), double_conv(16, 32))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), double_conv(32, 32))
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.conv1 = double_conv(64, 16)
        self.conv2 = double_conv(32, 16)
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.conv1(torch.cat([x2, self.up(x3)], dim=1))
        x = self.conv2(torch.cat([x1, self.up(x)], dim=1))
        return torch.sigmoid(self.outc(x))


def dice_single(input, target):
    eps = 0.0001
    inter = torch.dot(input.reshape(-1), target.reshape(-1))
    union = torch.sum(input) + torch.sum(target) + eps
    return (2 * inter + eps) / union


def dice_coeff(input, target):
    s = torch.zeros(1)
    for i, c in enumerate(zip(input, target)):
        s = s + dice_single(c[0], c[1])
    return s / (i + 1)


def eval_net(net, dataset):
    net.eval()
    tot = 0
    with torch.no_grad():
        for i, b in enumerate(dataset):
            img = torch.from_numpy(b[0]).unsqueeze(0)
            true_mask = torch.from_numpy(b[1]).unsqueeze(0)

            mask_pred = net(img)[0]
            mask_pred = (mask_pred > 0.5).float()

            tot += dice_coeff(mask_pred, true_mask).item()
    return tot / (i + 1)


def batch(iterable, batch_size):
    b = []
    for t in iterable:
        b.append(t)
        if len(b) == batch_size:
            yield b
            b = []
    if b:
        yield b


def train_net(net, train, val, epochs=2, batch_size=4, lr=0.1):
    optimizer = optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=0.0005)
    criterion = nn.BCELoss()
    for epoch in range(epochs):
        print('Starting epoch {}/{}.'.format(epoch + 1, epochs))
        net.train()
        epoch_loss = 0
        for i, b in enumerate(batch(train, batch_size)):
            imgs = torch.from_numpy(np.array([s[0] for s in b]))
            true_masks = torch.from_numpy(np.array([s[1] for s in b]))
            masks_pred = net(imgs)
            loss = criterion(masks_pred.view(-1), true_masks.view(-1))
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('Epoch finished ! Loss: {}'.format(epoch_loss / (i + 1)))
        val_dice = eval_net(net, val)
        print('Validation Dice Coeff: {}'.format(val_dice))


rng = np.random.RandomState(0)
data = [(rng.rand(3, 64, 64).astype(np.float32),
         (rng.rand(2, 64, 64) > 0.7).astype(np.float32)) for _ in range(20)]
train_net(UNet(n_channels=3, n_classes=2), data[:16], data[16:])
