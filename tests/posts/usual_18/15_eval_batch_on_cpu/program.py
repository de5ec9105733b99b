"""Meter reading from photos: digit shown and whether the dial is dirty (two heads)."""
import time
from contextlib import nullcontext

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
use_amp = device.type == "cuda"


class MeterPhotos(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.digit = torch.randint(0, 10, (n,), generator=g)
        self.dirty = torch.randint(0, 2, (n,), generator=g)
        self.photo = 0.1 * torch.rand(n, 1, 20, 20, generator=g)
        for i in range(n):
            d = int(self.digit[i])
            self.photo[i, 0, 2 * d:2 * d + 2, 4:16] += 0.8
            self.photo[i] += 0.3 * self.dirty[i]

    def __len__(self):
        return len(self.digit)

    def __getitem__(self, i):
        return {"photo": self.photo[i], "digit": self.digit[i], "dirty": self.dirty[i]}


class MeterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(),
        )
        self.digit = nn.Linear(32 * 25, 10)
        self.dirty = nn.Linear(32 * 25, 1)

    def forward(self, photo):
        h = self.trunk(photo)
        return {"digit": self.digit(h), "dirty": self.dirty(h).squeeze(-1)}


def to_device(batch):
    return {k: v.to(device, non_blocking=True) for k, v in batch.items()}


def multi_loss(out, batch):
    return F.cross_entropy(out["digit"], batch["digit"]) + \
        0.5 * F.binary_cross_entropy_with_logits(out["dirty"], batch["dirty"].float())


def train_one_epoch(model, loader, opt, scaler):
    model.train()
    for batch in loader:
        batch = to_device(batch)
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16) if use_amp else nullcontext():
            loss = multi_loss(model(batch["photo"]), batch)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return loss.item()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    right = {"digit": 0, "dirty": 0}
    for batch in loader:
        out = model(batch["photo"])
        right["digit"] += (out["digit"].argmax(1) == batch["digit"]).sum().item()
        right["dirty"] += ((out["dirty"] > 0).long() == batch["dirty"]).sum().item()
    return {k: v / len(loader.dataset) for k, v in right.items()}


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(MeterPhotos(320, 0), batch_size=32, shuffle=True, pin_memory=use_amp)
    val_loader = DataLoader(MeterPhotos(100, 1), batch_size=50)
    model = MeterNet().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(device.type, enabled=use_amp)
    for epoch in range(3):
        start = time.time()
        loss = train_one_epoch(model, train_loader, opt, scaler)
        scores = validate(model, val_loader)
        print(f"epoch {epoch} loss {loss:.3f} {scores} {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
