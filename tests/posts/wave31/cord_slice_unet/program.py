import json
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch import optim
from torch.utils.data import DataLoader, Dataset

CONTEXT = {
    "batch_size": 6,
    "num_epochs": 10,
    "initial_lr": 0.01,
    "dropout_rate": 0.2,
    "target": "seg-manual",
}


class SliceDataset(Dataset):
    """Axial slices: a bright cord on a noisy background."""

    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        yy, xx = np.mgrid[:32, :32]
        self.slices = []
        for _ in range(n):
            cy, cx, r = rng.randint(10, 22), rng.randint(10, 22), rng.randint(3, 7)
            gt = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).astype(np.float32)
            img = gt * 0.8 + rng.normal(0, 0.4, gt.shape)
            self.slices.append((img.astype(np.float32)[None], gt[None]))

    def __len__(self):
        return len(self.slices)

    def __getitem__(self, i):
        img, gt = self.slices[i]
        return {"input": torch.from_numpy(img), "gt": torch.from_numpy(gt)}


class DownConv(nn.Module):
    def __init__(self, cin, cout, drop):
        super(DownConv, self).__init__()
        self.block = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(), nn.Dropout2d(drop),
            nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())

    def forward(self, x):
        return self.block(x)


class Unet(nn.Module):
    def __init__(self, drop):
        super(Unet, self).__init__()
        self.d1 = DownConv(1, 12, drop)
        self.d2 = DownConv(12, 24, drop)
        self.u1 = DownConv(36, 12, drop)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.out = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        return torch.sigmoid(self.out(self.u1(torch.cat([self.up(b), a], dim=1))))


def dice_loss(pred, target, smooth=1.0):
    inter = (pred * target).sum()
    return -(2.0 * inter + smooth) / (pred.sum() + target.sum() + smooth)


def cmd_train(context):
    train_loader = DataLoader(SliceDataset(60, 0), batch_size=context["batch_size"], shuffle=True)
    val_loader = DataLoader(SliceDataset(18, 1), batch_size=context["batch_size"])
    model = Unet(context["dropout_rate"])

    num_epochs = context["num_epochs"]
    optimizer = optim.Adam(model.parameters(), lr=context["initial_lr"])
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, num_epochs)

    for epoch in range(1, num_epochs + 1):
        model.train()
        train_loss_total = 0.0
        num_steps = 0
        lr = scheduler.get_last_lr()[0]
        for batch in train_loader:
            preds = model(batch["input"])
            loss = dice_loss(preds, batch["gt"])
            train_loss_total += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            num_steps += 1
        train_loss_avg = train_loss_total / num_steps

        model.eval()
        val_loss_total = 0.0
        with torch.no_grad():
            for batch in val_loader:
                val_loss_total += dice_loss(model(batch["input"]), batch["gt"]).item()
        print("Epoch %d lr %.5f training loss %.4f validation loss %.4f" % (
            epoch, lr, train_loss_avg, val_loss_total / len(val_loader)))
    return model


def main():
    torch.manual_seed(0)
    log_dir = tempfile.mkdtemp()
    with open(os.path.join(log_dir, "config.json"), "w") as f:
        json.dump(CONTEXT, f)
    with open(os.path.join(log_dir, "config.json")) as f:
        context = json.load(f)
    model = cmd_train(context)
    torch.save(model.state_dict(), os.path.join(log_dir, "final_model.pt"))


if __name__ == "__main__":
    main()
