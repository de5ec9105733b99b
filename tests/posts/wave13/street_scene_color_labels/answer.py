import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import Dataset, DataLoader

PALETTE = np.array([[128, 64, 128], [244, 35, 232], [70, 70, 70],
                    [107, 142, 35], [70, 130, 180]], dtype=np.uint8)
MEAN, STD = np.array([0.35, 0.40, 0.45]), np.array([0.25, 0.25, 0.25])


def write_city(root, n=24, height=64, width=96, seed=2):
    """image, label ids and a coloured picture of the labels for each scene"""
    rng = np.random.default_rng(seed)
    for i in range(n):
        ids = np.full((height, width), 4, dtype=np.uint8)
        horizon = rng.integers(20, 36)
        ids[horizon:] = 2
        ids[horizon:, :rng.integers(10, 30)] = 3
        ids[horizon + 12:] = 1
        ids[horizon + 16:] = 0
        img = PALETTE[ids].astype(np.int64) + rng.integers(-40, 40, (height, width, 3))
        stem = os.path.join(root, 'aachen_%06d' % i)
        Image.fromarray(img.clip(0, 255).astype(np.uint8)).save(stem + '_leftImg8bit.png')
        Image.fromarray(ids).save(stem + '_gtFine_labelIds.png')
        Image.fromarray(PALETTE[ids]).save(stem + '_gtFine_color.png')


class CityScenes(Dataset):
    def __init__(self, root):
        files = sorted(os.listdir(root))
        self.images = [os.path.join(root, f) for f in files if f.endswith('_leftImg8bit.png')]
        self.masks = [os.path.join(root, f) for f in files if f.endswith('_gtFine_labelIds.png')]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img = np.array(Image.open(self.images[index]).convert('RGB')) / 255.0
        img = (img - MEAN) / STD
        mask = np.array(Image.open(self.masks[index]))
        img = torch.from_numpy(img.transpose(2, 0, 1)).float()
        return img, torch.from_numpy(mask).long()


class SmallFCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.score = nn.Conv2d(32, n_classes, 1)
        self.up = nn.Upsample(scale_factor=4, mode='bilinear', align_corners=False)

    def forward(self, x):
        return self.up(self.score(self.encoder(x)))


def mean_iu(hist):
    inter = hist.diag()
    union = hist.sum(0) + hist.sum(1) - inter
    return (inter / union.clamp(min=1)).mean().item()


def validate(net, loader, n_classes):
    net.eval()
    hist = torch.zeros(n_classes, n_classes)
    with torch.no_grad():
        for images, labels in loader:
            pred = net(images).argmax(1)
            index = labels.flatten() * n_classes + pred.flatten()
            hist += torch.bincount(index, minlength=n_classes ** 2).view(n_classes, n_classes)
    net.train()
    return mean_iu(hist)


def main():
    torch.manual_seed(0)
    n_classes = len(PALETTE)
    with tempfile.TemporaryDirectory() as root:
        write_city(root)
        loader = DataLoader(CityScenes(root), batch_size=8, shuffle=True)
        net = SmallFCN(n_classes)
        criterion = nn.CrossEntropyLoss(ignore_index=255)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        for epoch in range(8):
            total = 0.0
            for images, labels in loader:
                outputs = net(images)
                loss = criterion(outputs, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            print('epoch %d loss %.4f' % (epoch, total / len(loader)))
        print('mean iu %.3f' % validate(net, loader, n_classes))


if __name__ == '__main__':
    main()
