import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class AverageMeter:
    """Keeps the running average of a metric."""

    def __init__(self, name):
        self.name = name
        self.sum, self.count = 0., 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


class StreetScenes(Dataset):
    def __init__(self, n, classes=5, size=64, seed=0):
        rng = np.random.RandomState(seed)
        self.labels = rng.randint(0, classes, (n, size // 8, size // 8)).repeat(8, 1).repeat(8, 2)
        noise = rng.randn(n, 3, size, size) * np.linspace(0.1, 3, n)[:, None, None, None]
        self.images = (self.labels[:, None] / classes + noise).astype(np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def pixel_accuracy(logits, labels):
    return (logits.argmax(1) == labels).float().mean().item()


class Pipeline:
    def __init__(self, model, train_set, valid_set, batch_size=16):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True)
        self.valid_loader = DataLoader(valid_set, batch_size=batch_size)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def train_one_epoch(self):
        self.model.train()
        for images, labels in self.train_loader:
            loss = F.cross_entropy(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        meters = {k: AverageMeter(k) for k in ('loss', 'pixel_acc')}
        for images, labels in self.valid_loader:
            logits = self.model(images)
            meters['loss'].update(F.cross_entropy(logits, labels).item(), n=len(images))
            meters['pixel_acc'].update(pixel_accuracy(logits, labels), n=len(images))
        return {k: round(m.avg, 4) for k, m in meters.items()}


if __name__ == '__main__':
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 5, 1))
    pipeline = Pipeline(net, StreetScenes(48), StreetScenes(35, seed=1))
    for epoch in range(3):
        pipeline.train_one_epoch()
        print('epoch', epoch, pipeline.validate())
