import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch import optim
from torch.utils.data import DataLoader, Dataset, random_split


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, base=16):
        super().__init__()
        self.n_channels, self.n_classes = n_channels, n_classes
        self.inc = DoubleConv(n_channels, base)
        self.down1 = DoubleConv(base, base * 2)
        self.down2 = DoubleConv(base * 2, base * 4)
        self.up1 = nn.ConvTranspose2d(base * 4, base * 2, 2, 2)
        self.conv1 = DoubleConv(base * 4, base * 2)
        self.up2 = nn.ConvTranspose2d(base * 2, base, 2, 2)
        self.conv2 = DoubleConv(base * 2, base)
        self.outc = nn.Conv2d(base, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        x = self.conv1(torch.cat([x2, self.up1(x3)], dim=1))
        x = self.conv2(torch.cat([x1, self.up2(x)], dim=1))
        return self.outc(x)


class BasicDataset(Dataset):
    def __init__(self, n=14, size=64):
        rng = np.random.RandomState(5)
        self.images, self.masks = [], []
        for _ in range(n):
            grey = np.zeros((size, size), dtype=np.uint8)
            r, c = rng.randint(4, size // 2, 2)
            grey[r:r + 24, c:c + 24] = 192
            noise = rng.randint(0, 60, (size, size), dtype=np.uint8)
            self.images.append(Image.fromarray(grey // 2 + noise))
            self.masks.append(Image.fromarray(grey))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        img = np.asarray(self.images[idx])[np.newaxis, ...] / 255
        mask = np.asarray(self.masks[idx])
        return {'image': torch.as_tensor(img.copy()).float().contiguous(),
                'mask': torch.as_tensor(mask.copy()).long().contiguous()}


def train_net(net, epochs, batch_size, lr=1e-4):
    train_set, val_set = random_split(BasicDataset(), [10, 4], generator=torch.Generator().manual_seed(0))
    train_loader = DataLoader(train_set, shuffle=True, batch_size=batch_size)
    optimizer = optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0
        for batch in train_loader:
            images, true_masks = batch['image'], batch['mask']
            assert images.shape[1] == net.n_channels
            masks_pred = net(images)
            loss = criterion(masks_pred, true_masks)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f'epoch {epoch + 1} loss {epoch_loss / len(train_loader):.4f}')


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='Train the UNet on images and target masks')
    parser.add_argument('--epochs', '-e', type=int, default=1)
    parser.add_argument('--batch-size', '-b', type=int, default=4)
    parser.add_argument('--classes', '-c', type=int, default=2)
    args = parser.parse_args()
    train_net(UNet(n_channels=1, n_classes=args.classes), args.epochs, args.batch_size)
