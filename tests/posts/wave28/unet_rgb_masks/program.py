import logging
import os
import tempfile
from glob import glob

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch import optim
from torch.utils.data import DataLoader, Dataset, random_split

logging.basicConfig(level=logging.INFO, format='%(levelname)s: %(message)s')


def write_scans(root, n=12, size=(96, 80)):
    """Slices as png, and the label maps as they come out of the annotation tool."""
    rng = np.random.RandomState(3)
    os.makedirs(os.path.join(root, 'imgs'))
    os.makedirs(os.path.join(root, 'masks'))
    for k in range(n):
        w, h = size
        yy, xx = np.mgrid[:h, :w]
        cx, cy, r = rng.randint(25, w - 25), rng.randint(25, h - 25), rng.randint(8, 20)
        inside = (xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2
        img = rng.randint(0, 120, (h, w, 3)) + 110 * inside[:, :, None]
        label = np.where(inside[:, :, None], 255, 0).repeat(3, axis=2)
        Image.fromarray(img.astype(np.uint8)).save(os.path.join(root, 'imgs', 'slice%03d.png' % k))
        Image.fromarray(label.astype(np.uint8)).save(os.path.join(root, 'masks', 'slice%03d.png' % k))


class ScanDataset(Dataset):
    def __init__(self, imgs_dir, masks_dir, scale=1):
        self.imgs_dir = imgs_dir
        self.masks_dir = masks_dir
        self.scale = scale
        self.ids = sorted(os.path.splitext(f)[0] for f in os.listdir(imgs_dir))
        logging.info('Creating dataset with %d examples', len(self.ids))

    def __len__(self):
        return len(self.ids)

    @staticmethod
    def preprocess(pil_img, scale):
        w, h = pil_img.size
        pil_img = pil_img.resize((int(scale * w), int(scale * h)))
        arr = np.array(pil_img)
        if arr.ndim == 2:
            arr = np.expand_dims(arr, axis=2)
        arr = arr.transpose((2, 0, 1))
        if arr.max() > 1:
            arr = arr / 255
        return arr

    def __getitem__(self, i):
        idx = self.ids[i]
        mask_file = glob(os.path.join(self.masks_dir, idx + '.*'))[0]
        img_file = glob(os.path.join(self.imgs_dir, idx + '.*'))[0]
        img = self.preprocess(Image.open(img_file), self.scale)
        mask = self.preprocess(Image.open(mask_file), self.scale)
        return {'image': torch.from_numpy(img).float(), 'mask': torch.from_numpy(mask).float()}


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.n_classes = n_classes
        self.inc = double_conv(n_channels, 8)
        self.down1 = double_conv(8, 16)
        self.down2 = double_conv(16, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.up1 = double_conv(32, 8)
        self.up2 = double_conv(16, 8)
        self.outc = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.pool(x1))
        x3 = self.down2(self.pool(x2))
        x = self.up1(torch.cat([self.up(x3), x2], dim=1))
        x = self.up2(torch.cat([self.up(x), x1], dim=1))
        return self.outc(x)


def eval_net(net, loader):
    net.eval()
    dice = 0
    with torch.no_grad():
        for batch in loader:
            pred = (torch.sigmoid(net(batch['image'])) > 0.5).float()
            inter = (pred * batch['mask']).sum()
            dice += (2 * inter + 1e-4) / (pred.sum() + batch['mask'].sum() + 1e-4)
    net.train()
    return (dice / len(loader)).item()


def train_net(net, root, epochs=3, batch_size=1, lr=0.001, val_percent=0.25, img_scale=0.5):
    dataset = ScanDataset(os.path.join(root, 'imgs'), os.path.join(root, 'masks'), img_scale)
    n_val = int(len(dataset) * val_percent)
    train, val = random_split(dataset, [len(dataset) - n_val, n_val])
    train_loader = DataLoader(train, batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(val, batch_size=batch_size)

    optimizer = optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0
        for batch in train_loader:
            imgs = batch['image']
            true_masks = batch['mask']
            masks_pred = net(imgs)
            loss = criterion(masks_pred, true_masks)
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        logging.info('epoch %d loss %.4f dice %.4f', epoch + 1, epoch_loss / len(train_loader), eval_net(net, val_loader))


if __name__ == '__main__':
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as data:
        write_scans(data)
        train_net(UNet(n_channels=3, n_classes=1), data)
