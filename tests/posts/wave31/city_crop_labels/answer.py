import random

import numpy as np
import torch
import torch.nn as nn
from PIL import Image, ImageOps
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

NUM_CLASSES = 5   # road, building, sky, tree, car


class Normalize(object):
    def __init__(self, mean, std):
        self.mean = mean
        self.std = std

    def __call__(self, sample):
        img = np.array(sample['image']).astype(np.float32) / 255.0
        img = (img - self.mean) / self.std
        return {'image': img, 'label': np.array(sample['label']).astype(np.float32)}


class ToTensor(object):
    def __call__(self, sample):
        img = sample['image'].astype(np.float32).transpose((2, 0, 1))
        return {'image': torch.from_numpy(img).float(),
                'label': torch.from_numpy(sample['label']).float()}


class RandomHorizontalFlip(object):
    def __call__(self, sample):
        img, mask = sample['image'], sample['label']
        if random.random() < 0.5:
            img = img.transpose(Image.FLIP_LEFT_RIGHT)
            mask = mask.transpose(Image.FLIP_LEFT_RIGHT)
        return {'image': img, 'label': mask}


class RandomScaleCrop(object):
    def __init__(self, base_size, crop_size, fill=0):
        self.base_size = base_size
        self.crop_size = crop_size
        self.fill = fill

    def __call__(self, sample):
        img, mask = sample['image'], sample['label']
        short_size = random.randint(int(self.base_size * 0.5), int(self.base_size * 2.0))
        w, h = img.size
        ow, oh = (int(w * short_size / h), short_size) if h < w else (short_size, int(h * short_size / w))
        img = img.resize((ow, oh), Image.BILINEAR)
        mask = mask.resize((ow, oh), Image.NEAREST)
        if short_size < self.crop_size:
            padh = max(self.crop_size - oh, 0)
            padw = max(self.crop_size - ow, 0)
            img = ImageOps.expand(img, border=(0, 0, padw, padh), fill=0)
            mask = ImageOps.expand(mask, border=(0, 0, padw, padh), fill=self.fill)
        w, h = img.size
        x1 = random.randint(0, w - self.crop_size)
        y1 = random.randint(0, h - self.crop_size)
        box = (x1, y1, x1 + self.crop_size, y1 + self.crop_size)
        return {'image': img.crop(box), 'label': mask.crop(box)}


class StreetScenes(Dataset):
    def __init__(self, n=48, base_size=48, crop_size=48):
        rng = np.random.RandomState(7)
        palette = rng.randint(0, 256, (NUM_CLASSES, 3))
        self.items = []
        for _ in range(n):
            label = np.zeros((48, 64), np.uint8)
            horizon = rng.randint(15, 30)
            label[:horizon] = 2
            label[horizon - 8:horizon + 4, rng.randint(0, 30):rng.randint(34, 64)] = 1
            label[36:44, 10:24] = 4
            label[20:34, 50:58] = 3
            label[0, :5] = 255
            img = palette[np.minimum(label, NUM_CLASSES - 1)] + rng.randint(-20, 20, (48, 64, 3))
            self.items.append((Image.fromarray(np.clip(img, 0, 255).astype(np.uint8)), Image.fromarray(label)))
        self.transform = transforms.Compose([
            RandomHorizontalFlip(),
            RandomScaleCrop(base_size, crop_size, fill=255),
            Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ToTensor()])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        img, label = self.items[index]
        return self.transform({'image': img, 'label': label})


def build_net():
    return nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=2, dilation=2), nn.BatchNorm2d(24), nn.ReLU(),
        nn.Conv2d(24, NUM_CLASSES, 1))


if __name__ == '__main__':
    random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader(StreetScenes(), batch_size=8, shuffle=True, drop_last=True)
    model = build_net()
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(4):
        model.train()
        train_loss = 0.0
        share = torch.zeros(NUM_CLASSES)
        for i, sample in enumerate(loader):
            image, target = sample['image'], sample['label']
            optimizer.zero_grad()
            output = model(image)
            loss = criterion(output, target.long())
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
            share += torch.bincount(output.argmax(1).flatten(), minlength=NUM_CLASSES)
        print('[Epoch: %d] loss: %.4f, predicted: %s' % (epoch, train_loss / (i + 1), (share / share.sum()).numpy().round(2)))
