import argparse
import logging
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split


def write_dataset(root, n, size=64, seed=0):
    """Photographs of round cells with binary masks, as image and mask folders."""
    rng = np.random.RandomState(seed)
    os.makedirs(os.path.join(root, 'imgs'))
    os.makedirs(os.path.join(root, 'masks'))
    ys, xs = np.mgrid[:size, :size]
    for i in range(n):
        cy, cx, r = rng.randint(16, 48), rng.randint(16, 48), rng.randint(6, 14)
        disk = (ys - cy) ** 2 + (xs - cx) ** 2 < r * r
        img = rng.randint(0, 80, size=(size, size, 3)) + disk[..., None] * 140
        Image.fromarray(img.astype(np.uint8)).save(os.path.join(root, 'imgs', f'cell_{i:03d}.png'))
        Image.fromarray((disk * 255).astype(np.uint8)).save(os.path.join(root, 'masks', f'cell_{i:03d}.png'))


class CellDataset(Dataset):
    def __init__(self, photo_dir, label_dir, scale=1.0):
        self.photo_dir, self.label_dir, self.scale = photo_dir, label_dir, scale
        self.ids = sorted(os.path.splitext(f)[0] for f in os.listdir(photo_dir))
        logging.info(f'Creating dataset with {len(self.ids)} examples')

    def __len__(self):
        return len(self.ids)

    def load(self, path):
        pil = Image.open(path)
        w, h = int(pil.width * self.scale), int(pil.height * self.scale)
        arr = np.array(pil.resize((w, h), Image.NEAREST), dtype=np.float32)
        return arr[None] if arr.ndim == 2 else arr.transpose(2, 0, 1)

    def __getitem__(self, i):
        name = self.ids[i] + '.png'
        img = self.load(os.path.join(self.photo_dir, name)) / 255
        mask = self.load(os.path.join(self.label_dir, name))
        return {'image': torch.from_numpy(img), 'mask': torch.from_numpy(mask)}


def double_conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels=3, n_classes=1):
        super().__init__()
        self.inc, self.down1, self.down2 = double_conv(n_channels, 16), double_conv(16, 32), double_conv(32, 64)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.conv1, self.conv2 = double_conv(64 + 32, 32), double_conv(32 + 16, 16)
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.pool(x1))
        x3 = self.down2(self.pool(x2))
        x = self.conv1(torch.cat([self.up(x3), x2], 1))
        return self.outc(self.conv2(torch.cat([self.up(x), x1], 1)))


def train_net(net, root, epochs, batch_size, lr, val_percent=0.2):
    dataset = CellDataset(os.path.join(root, 'imgs'), os.path.join(root, 'masks'))
    n_val = int(len(dataset) * val_percent)
    train, val = random_split(dataset, [len(dataset) - n_val, n_val])
    train_loader = DataLoader(train, batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(val, batch_size=batch_size)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0
        for batch in train_loader:
            loss = criterion(net(batch['image']), batch['mask'])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
            optimizer.step()
            epoch_loss += loss.item()
        net.eval()
        with torch.no_grad():
            val_loss = sum(criterion(net(b['image']), b['mask']).item() for b in val_loader) / len(val_loader)
        print(f'Epoch {epoch + 1}/{epochs} loss {epoch_loss / len(train_loader):.4f} val {val_loss:.4f}')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-e', '--epochs', type=int, default=3)
    parser.add_argument('-b', '--batch-size', type=int, default=8)
    parser.add_argument('-l', '--learning-rate', type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        write_dataset(root, 60)
        train_net(UNet(), root, args.epochs, args.batch_size, args.learning_rate)
