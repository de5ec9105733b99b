import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torchvision
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 6


def write_rooms(path, n, h=48, w=64, seed=0):
    rng = np.random.RandomState(seed)
    rgb = np.zeros((n, h, w, 3), dtype=np.uint8)
    depth = np.zeros((n, h, w), dtype=np.uint16)
    label = np.zeros((n, h, w), dtype=np.uint8)
    for k in range(n):
        depth[k] = 4000
        rgb[k] = 90
        for _ in range(5):
            c = rng.randint(1, NUM_CLASSES)
            y, x = rng.randint(0, h - 16), rng.randint(0, w - 16)
            label[k, y:y + 16, x:x + 16] = c
            rgb[k, y:y + 16, x:x + 16] = 40 * c
            depth[k, y:y + 16, x:x + 16] = 600 * c
    np.savez(path, rgb=rgb, depth=depth, label=label)


class RoomData(Dataset):
    def __init__(self, path):
        stored = np.load(path)
        self.rgb, self.depth, self.label = stored['rgb'], stored['depth'], stored['label']

    def __len__(self):
        return self.rgb.shape[0]

    def __getitem__(self, index):
        rgb = torch.from_numpy(self.rgb[index].astype(np.float32).transpose(2, 0, 1)) / 255.
        depth = torch.from_numpy(self.depth[index][None].astype(np.float32)) / 4000.
        label = torch.from_numpy(self.label[index].astype(np.int64))
        return rgb, depth, label


def cbr(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())


class FusionNet(nn.Module):
    """Two encoders, depth features are added to the colour branch before each pooling."""

    def __init__(self, num_labels):
        super(FusionNet, self).__init__()
        feats = list(torchvision.models.vgg11(weights=None).features.children())
        self.cbr1_rgb, self.cbr1_d = cbr(3, 64), cbr(1, 64)
        self.cbr1_rgb[0].weight.data = feats[0].weight.data.clone()
        avg = torch.mean(feats[0].weight.data, dim=1)
        self.cbr1_d[0].weight.data = avg
        self.cbr2_rgb, self.cbr2_d = cbr(64, 32), cbr(64, 32)
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.pool_d = nn.MaxPool2d(2)
        self.bottom = cbr(32, 32)
        self.unpool = nn.MaxUnpool2d(2)
        self.dec2 = cbr(32, 64)
        self.dec1 = nn.Conv2d(64, num_labels, 3, padding=1)

    def forward(self, rgb_inputs, depth_inputs):
        d1 = self.cbr1_d(depth_inputs)
        x1 = self.cbr1_rgb(rgb_inputs) + d1
        x, id1 = self.pool(x1)
        d2 = self.cbr2_d(self.pool_d(d1))
        x2 = self.cbr2_rgb(x) + d2
        x, id2 = self.pool(x2)
        x = self.bottom(x)
        x = self.dec2(self.unpool(x, id2))
        return self.dec1(self.unpool(x, id1))


class Solver(object):
    def __init__(self, lr=0.01, momentum=0.9):
        self.lr, self.momentum = lr, momentum
        self.loss_func = nn.CrossEntropyLoss()

    def train_model(self, model, train_loader, val_loader, num_epochs):
        optim = torch.optim.SGD(model.parameters(), lr=self.lr, momentum=self.momentum)
        for epoch in range(num_epochs):
            model.train()
            losses = []
            for rgb, depth, label in train_loader:
                optim.zero_grad()
                output = model(rgb, depth)
                loss = self.loss_func(output, label)
                loss.backward()
                optim.step()
                losses.append(loss.item())
            print('[EPOCH: %d/%d] loss %.4f val acc %.3f'
                  % (epoch + 1, num_epochs, np.mean(losses), self.validate_model(model, val_loader)))

    def validate_model(self, model, val_loader):
        model.eval()
        scores = []
        with torch.no_grad():
            for rgb, depth, label in val_loader:
                preds = model(rgb, depth).argmax(dim=1)
                scores.append((preds == label).float().mean().item())
        return np.mean(scores)


if __name__ == '__main__':
    torch.manual_seed(1)
    folder = tempfile.mkdtemp()
    train_path, val_path = os.path.join(folder, 'train.npz'), os.path.join(folder, 'val.npz')
    write_rooms(train_path, 40, seed=1)
    write_rooms(val_path, 8, seed=2)
    train_loader = DataLoader(RoomData(train_path), batch_size=4, shuffle=True)
    val_loader = DataLoader(RoomData(val_path), batch_size=4)
    Solver().train_model(FusionNet(NUM_CLASSES), train_loader, val_loader, num_epochs=3)
