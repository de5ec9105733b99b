import os
import shutil
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader, Dataset

ROOT = Path('stickers')
SHAPES = ['circle', 'square', 'triangle']
SIZE = 48


def draw_folder(n=150):
    """stand-in for the scraped folder: one sub folder per class, png files"""
    rng = np.random.default_rng(5)
    for i in range(n):
        shape = SHAPES[i % 3]
        (ROOT / shape).mkdir(parents=True, exist_ok=True)
        col = tuple(int(v) for v in rng.integers(60, 256, 3))
        x, y, s = (int(v) for v in (rng.integers(8, 24), rng.integers(8, 24), rng.integers(24, 36)))
        im = Image.new('RGBA', (64, 64), (0, 0, 0, 255))
        d = ImageDraw.Draw(im)
        if shape == 'circle':
            d.ellipse([x, y, x + s, y + s], fill=col)
        elif shape == 'square':
            d.rectangle([x, y, x + s, y + s], fill=col)
        else:
            d.polygon([(x, y + s), (x + s, y + s), (x + s // 2, y)], fill=col)
        im.save(ROOT / shape / f'{i:04d}.png')


class StickerData(Dataset):
    def __init__(self, files, train):
        self.files = files
        self.train = train

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path = self.files[i]
        img = Image.open(path).convert('RGB').resize((SIZE, SIZE))
        x = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255
        if self.train and torch.rand(1).item() < 0.5:
            x = x.flip(-1)
        return (x - 0.5) / 0.5, SHAPES.index(path.parent.name)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


class StickerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(3, 16), conv(16, 32), conv(32, 64))
        self.head = nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(64, len(SHAPES)))

    def forward(self, x):
        return self.head(self.body(x))


def fit(model, train_dl, val_dl, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    for ep in range(epochs):
        model.train()
        for x, y in train_dl:
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        model.eval()
        ok = 0
        with torch.no_grad():
            for x, y in val_dl:
                ok += (model(x).argmax(1) == y).sum().item()
        print(f'epoch {ep}: {ok}/{len(val_dl.dataset)} right')


def main():
    draw_folder()
    try:
        files = sorted(ROOT.glob('*/*.png'))
        train, val = files[:120], files[120:]
        print(f'{len(train)} train, {len(val)} val')
        torch.manual_seed(0)
        fit(StickerNet(),
            DataLoader(StickerData(train, True), batch_size=20, shuffle=True),
            DataLoader(StickerData(val, False), batch_size=30), epochs=4)
    finally:
        shutil.rmtree(ROOT)


main()
