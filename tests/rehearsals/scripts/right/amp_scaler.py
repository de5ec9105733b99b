import contextlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

use_amp = torch.cuda.is_available()
device = torch.device("cuda" if use_amp else "cpu")


class Tiles(Dataset):
    """Tiles of a map with a mask of its water."""

    def __init__(self, count):
        rng = np.random.default_rng(count)
        self.height = rng.normal(size=(count, 1, 32, 32)).astype(np.float32)

    def __len__(self):
        return len(self.height)

    def __getitem__(self, i):
        tile = torch.from_numpy(self.height[i])
        return tile, (tile < 0).float()


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = self.block(1, c)
        self.down2 = self.block(c, 2 * c)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.last = self.block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        return self.out(self.last(torch.cat([a, self.up(b)], 1)))


def autocast():
    if use_amp:
        return torch.autocast(device_type="cuda", dtype=torch.float16)
    return contextlib.nullcontext()


def dice(logits, mask):
    p = logits.sigmoid()
    inter = (p * mask).sum(dim=(1, 2, 3))
    return (2 * inter + 1) / (p.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + 1)


torch.manual_seed(0)
train_loader = DataLoader(Tiles(22), batch_size=4, shuffle=True, pin_memory=use_amp)
val_loader = DataLoader(Tiles(6), batch_size=4)
model = UNet().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda", enabled=use_amp)

for epoch in range(2):
    model.train()
    for tile, mask in train_loader:
        tile, mask = tile.to(device, non_blocking=True), mask.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            logits = model(tile)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, mask)
            loss = loss + 1 - dice(logits, mask).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    model.eval()
    scores = []
    with torch.no_grad(), autocast():
        for tile, mask in val_loader:
            scores += dice(model(tile.to(device)), mask.to(device)).float().cpu().tolist()
    print(f"epoch {epoch}: loss {loss.item():.4f} dice {np.mean(scores):.4f}")
