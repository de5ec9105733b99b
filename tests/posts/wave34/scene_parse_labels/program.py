import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils import data


class SceneParsingLoader(data.Dataset):
    n_classes = 20

    def __init__(self, root, split="training", img_size=(48, 48)):
        self.root = root
        self.split = split
        self.img_size = img_size
        self.mean = np.array([104.0, 116.7, 122.7])
        self.files = sorted(f for f in os.listdir(os.path.join(root, "images", split)) if f.endswith(".png"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        name = self.files[index]
        img = Image.open(os.path.join(self.root, "images", self.split, name)).convert("RGB")
        lbl = Image.open(os.path.join(self.root, "annotations", self.split, name))
        return self.transform(img, lbl)

    def transform(self, img, lbl):
        img = np.array(img.resize(self.img_size), dtype=np.float64)[:, :, ::-1] - self.mean
        img = torch.from_numpy((img / 255.0).transpose(2, 0, 1).copy()).float()
        lbl = np.array(lbl.resize(self.img_size, Image.NEAREST), dtype=np.int64)
        return img, torch.from_numpy(lbl)


class PyramidPooling(nn.Module):
    def __init__(self, ch, bins=(1, 2, 4)):
        super().__init__()
        self.bins = bins
        self.convs = nn.ModuleList([nn.Conv2d(ch, ch // 2, 1) for _ in bins])

    def forward(self, x):
        out = [x]
        for b, conv in zip(self.bins, self.convs):
            y = conv(F.adaptive_avg_pool2d(x, b))
            out.append(F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=True))
        return torch.cat(out, dim=1)


class PspSmall(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.res = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
        self.ppm = PyramidPooling(32)
        self.cls = nn.Conv2d(32 + 3 * 16, n_classes, 1)
        self.aux = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        size = x.shape[2:]
        a = self.stem(x)
        out = F.interpolate(self.cls(self.ppm(self.res(a))), size=size, mode="bilinear", align_corners=True)
        return (out, self.aux(a)) if self.training else out


def cross_entropy2d(input, target):
    n, c, h, w = input.size()
    if (h, w) != tuple(target.shape[1:]):
        input = F.interpolate(input, size=target.shape[1:], mode="bilinear", align_corners=True)
    input = input.transpose(1, 2).transpose(2, 3).reshape(-1, c)
    return F.cross_entropy(input, target.reshape(-1), ignore_index=250)


def multi_scale_cross_entropy2d(inputs, target, scale=0.4):
    scale_weight = torch.pow(scale * torch.ones(len(inputs)), torch.arange(len(inputs)).float())
    loss = 0.0
    for i, inp in enumerate(inputs):
        loss = loss + scale_weight[i] * cross_entropy2d(inp, target)
    return loss


def write_scenes(root, n=8):
    rng = np.random.RandomState(1)
    for sub in ("images", "annotations"):
        os.makedirs(os.path.join(root, sub, "training"))
    for k in range(n):
        ann = np.kron(rng.randint(1, 21, size=(8, 8)), np.ones((8, 8))).astype(np.uint8)
        img = (ann[..., None] * np.array([11, 7, 5]) + rng.randint(0, 40, ann.shape + (3,))) % 256
        Image.fromarray(img.astype(np.uint8)).save(os.path.join(root, "images", "training", "%04d.png" % k))
        Image.fromarray(ann).save(os.path.join(root, "annotations", "training", "%04d.png" % k))


def train():
    torch.manual_seed(1337)
    with tempfile.TemporaryDirectory() as root:
        write_scenes(root)
        dataset = SceneParsingLoader(root)
        loader = data.DataLoader(dataset, batch_size=2, shuffle=True)
        model = PspSmall(dataset.n_classes)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
        model.train()
        for epoch in range(2):
            for images, labels in loader:
                optimizer.zero_grad()
                loss = multi_scale_cross_entropy2d(model(images), labels)
                loss.backward()
                optimizer.step()
            print("epoch %d loss %.3f" % (epoch + 1, loss.item()))


if __name__ == "__main__":
    train()
