import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

INPUT_SIZE = 368
STRIDE = 4
NUM_PARTS = 5


class Poses(Dataset):
    def __init__(self, n, seed=1):
        rng = np.random.default_rng(seed)
        self.points = rng.uniform(0.1, 0.9, size=(n, NUM_PARTS, 2))
        self.seed = seed

    def __len__(self):
        return len(self.points)

    def heatmaps(self, pts, sigma=2.0):
        size = INPUT_SIZE // STRIDE
        yy, xx = np.mgrid[0:size, 0:size]
        maps = [np.exp(-((xx - x * size) ** 2 + (yy - y * size) ** 2) / (2 * sigma ** 2)) for x, y in pts]
        return np.stack(maps).astype('float32')

    def __getitem__(self, i):
        rng = np.random.default_rng(self.seed + i)
        img = rng.normal(0, 0.1, size=(3, INPUT_SIZE, INPUT_SIZE)).astype('float32')
        for k, (x, y) in enumerate(self.points[i]):
            r, c = int(y * INPUT_SIZE), int(x * INPUT_SIZE)
            img[k % 3, r - 6:r + 6, c - 6:c + 6] += 1 + k
        return torch.from_numpy(img), torch.from_numpy(self.heatmaps(self.points[i]))


def stage(i, o, stride=2):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class FPN(nn.Module):
    def __init__(self, width=16):
        super(FPN, self).__init__()
        self.C1 = stage(3, 8)
        self.C2 = stage(8, width)
        self.C3 = stage(width, width)
        self.C4 = stage(width, width * 2)
        self.C5 = stage(width * 2, width * 2)
        self.P5_conv1 = nn.Conv2d(width * 2, width, 1)
        self.P4_conv1 = nn.Conv2d(width * 2, width, 1)
        self.P3_conv1 = nn.Conv2d(width, width, 1)
        self.P2_conv1 = nn.Conv2d(width, width, 1)

    def forward(self, x):
        c2_out = self.C2(self.C1(x))
        c3_out = self.C3(c2_out)
        c4_out = self.C4(c3_out)
        p5_out = self.P5_conv1(self.C5(c4_out))
        p4_out = self.P4_conv1(c4_out) + F.interpolate(p5_out, scale_factor=2)
        p3_out = self.P3_conv1(c3_out) + F.interpolate(p4_out, scale_factor=2)
        p2_out = self.P2_conv1(c2_out) + F.interpolate(p3_out, scale_factor=2)
        return p2_out


class PoseNet(nn.Module):
    def __init__(self, num_parts):
        super(PoseNet, self).__init__()
        self.fpn = FPN()
        self.stage1 = nn.Conv2d(16, num_parts, 3, padding=1)
        self.stage2 = nn.Conv2d(16 + num_parts, num_parts, 7, padding=3)

    def forward(self, x):
        feat = self.fpn(x)
        first = self.stage1(feat)
        return first, self.stage2(torch.cat([feat, first], 1))


def train_val(epochs=2):
    torch.manual_seed(0)
    loader = DataLoader(Poses(8), batch_size=4, shuffle=True)
    model = PoseNet(NUM_PARTS)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        for img, heat in loader:
            heat1, heat2 = model(img)
            loss = criterion(heat1, heat) + criterion(heat2, heat)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('epoch {} loss {:.5f}'.format(epoch, loss.item()))


if __name__ == '__main__':
    train_val()
