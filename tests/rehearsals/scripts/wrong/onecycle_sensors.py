import argparse
import math
import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

parser = argparse.ArgumentParser(description='activity from accelerometer windows')
parser.add_argument('--data', default='sensors.npz')
parser.add_argument('--epochs', type=int, default=4)
parser.add_argument('--batch_size', type=int, default=40)
parser.add_argument('--max_lr', type=float, default=1e-2)
parser.add_argument('--log_interval', type=int, default=5)


def write_data(path, n=430, length=50):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    t = np.arange(length) / length
    freq = 2 + 2 * y[:, None, None]
    phase = rng.uniform(0, 2 * np.pi, (n, 3, 1))
    x = np.sin(2 * np.pi * freq * t + phase) + 0.3 * rng.normal(size=(n, 3, length))
    np.savez(path, x=x.astype('float32'), y=y.astype('int64'))


class Windows(Dataset):
    def __init__(self, path):
        with np.load(path) as f:
            self.x, self.y = f['x'], f['y']
        self.mean = self.x.mean((0, 2), keepdims=True)[0]
        self.std = self.x.std((0, 2), keepdims=True)[0]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy((self.x[i] - self.mean) / self.std), int(self.y[i])


def build_model():
    return nn.Sequential(
        nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4),
    )


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def train(args, model, loader, optimizer, scheduler, epoch):
    model.train()
    losses, accs = AverageMeter(), AverageMeter()
    for batch_idx, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        output = model(x)
        loss = nn.functional.cross_entropy(output, y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.update(loss.item(), len(y))
        accs.update((output.argmax(1) == y).float().mean().item(), len(y))
        if batch_idx % args.log_interval == 0:
            print('Epoch %d [%d/%d] lr %.5f loss %.4f' % (
                epoch, batch_idx, len(loader), scheduler.get_last_lr()[0], losses.avg))
    print('Epoch %d: loss %.4f acc %.3f' % (epoch, losses.avg, accs.avg))


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    if not os.path.exists(args.data):
        write_data(args.data)
    dataset = Windows(args.data)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.max_lr, momentum=0.9)
    steps_per_epoch = len(dataset) // args.batch_size
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.max_lr, epochs=args.epochs, steps_per_epoch=steps_per_epoch)
    for epoch in range(1, args.epochs + 1):
        train(args, model, loader, optimizer, scheduler, epoch)


if __name__ == '__main__':
    main()
