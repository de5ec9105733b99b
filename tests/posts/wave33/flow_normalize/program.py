import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

parser = argparse.ArgumentParser(description='optical flow training on a small set of pairs')
parser.add_argument('--epochs', default=4, type=int)
parser.add_argument('-b', '--batch-size', default=8, type=int)
parser.add_argument('--lr', default=1e-3, type=float)
parser.add_argument('--div-flow', default=5, type=float)


def write_pairs(root, n):
    rng = np.random.RandomState(0)
    for i in range(n):
        coarse = rng.rand(8, 8, 3)
        coarse = coarse * [0.9, 0.86, 0.82]
        big = np.array(Image.fromarray((coarse * 255).astype(np.uint8)).resize((64, 64), Image.BICUBIC))
        dx, dy = rng.randint(-4, 5, 2)
        Image.fromarray(big[8:56, 8:56]).save(os.path.join(root, '%04d_a.png' % i))
        Image.fromarray(big[8 + dy:56 + dy, 8 + dx:56 + dx]).save(os.path.join(root, '%04d_b.png' % i))
        flow = np.zeros((48, 48, 2), np.float32)
        flow[...] = [-dx, -dy]
        np.save(os.path.join(root, '%04d.npy' % i), flow)


class ArrayToTensor(object):
    """(H, W, C) array to (C, H, W) float tensor"""
    def __call__(self, array):
        return torch.from_numpy(np.ascontiguousarray(np.transpose(array, (2, 0, 1)))).float()


class PairFolder(Dataset):
    def __init__(self, root, ids, transform, target_transform):
        self.root, self.ids = root, ids
        self.transform, self.target_transform = transform, target_transform

    def __len__(self):
        return len(self.ids)

    def load(self, name):
        return np.array(Image.open(os.path.join(self.root, name)).convert('RGB'))

    def __getitem__(self, i):
        k = self.ids[i]
        frames = [self.transform(self.load('%04d_%s.png' % (k, s))) for s in 'ab']
        return torch.cat(frames), self.target_transform(np.load(os.path.join(self.root, '%04d.npy' % k)))


class FlowNetTiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(6, 24, 7, stride=2, padding=3)
        self.conv2 = nn.Conv2d(24, 48, 5, stride=2, padding=2)
        self.conv3 = nn.Conv2d(48, 48, 3, stride=2, padding=1)
        self.predict = nn.Conv2d(48, 2, 3, padding=1)

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.leaky_relu(conv(x), 0.1)
        return self.predict(x)


def EPE(output, target):
    target = F.adaptive_avg_pool2d(target, output.shape[-2:])
    return torch.norm(target - output, 2, 1).mean()


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        write_pairs(root, 120)
        input_transform = transforms.Compose([
            ArrayToTensor(),
            transforms.Normalize(mean=[0, 0, 0], std=[255, 255, 255]),
            transforms.Normalize(mean=[0.411, 0.432, 0.45], std=[1, 1, 1]),
        ])
        target_transform = transforms.Compose([
            ArrayToTensor(),
            transforms.Normalize(mean=[0, 0], std=[args.div_flow, args.div_flow]),
        ])
        train_set = PairFolder(root, list(range(96)), input_transform, target_transform)
        test_set = PairFolder(root, list(range(96, 120)), input_transform, target_transform)
        train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
        val_loader = DataLoader(test_set, batch_size=args.batch_size)

        mean = torch.stack([x.view(2, 3, -1).mean((0, 2)) for x, _ in train_set]).mean(0)
        print('mean of the normalized channels', mean)
        model = FlowNetTiny()
        optimizer = torch.optim.Adam(model.parameters(), args.lr, weight_decay=4e-4)
        for epoch in range(args.epochs):
            model.train()
            total = 0
            for x, target in train_loader:
                loss = EPE(model(x), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            model.eval()
            with torch.no_grad():
                val = sum(args.div_flow * EPE(model(x), t).item() for x, t in val_loader) / len(val_loader)
            print('epoch %d train loss %.3f val EPE %.3f' % (epoch, total / len(train_loader), val))


if __name__ == '__main__':
    main()
