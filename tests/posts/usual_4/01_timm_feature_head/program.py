"""Mushroom species: timm backbone + own classifier, small images."""
import argparse
import random

import numpy as np
import timm
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Mushrooms(Dataset):
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    def __init__(self, n, n_classes, size):
        rng = np.random.RandomState(n)
        self.y = rng.randint(0, n_classes, n)
        self.x = rng.randint(0, 120, (n, size, size, 3)).astype(np.uint8)
        self.x += (self.y * 15).astype(np.uint8)[:, None, None, None]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = torch.from_numpy(self.x[i]).permute(2, 0, 1).float() / 255
        return (img - self.mean) / self.std, int(self.y[i])


def build_model(args):
    model = timm.create_model(args.arch, pretrained=False, num_classes=0)
    for p in model.parameters():
        p.requires_grad = not args.freeze
    model.fc = nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(model.fc.in_features, args.classes),
    )
    return model


def run_epoch(model, loader, optimizer=None):
    training = optimizer is not None
    model.train(training)
    tot, hit, n = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = model(x)
            loss = F.cross_entropy(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            tot += loss.item() * len(y)
            hit += (out.argmax(1) == y).sum().item()
            n += len(y)
    return tot / n, hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--arch", default="resnet18")
    ap.add_argument("--classes", type=int, default=6)
    ap.add_argument("--size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--freeze", action="store_true")
    args = ap.parse_args()

    set_seed(7)
    train_dl = DataLoader(Mushrooms(96, args.classes, args.size), batch_size=16, shuffle=True)
    val_dl = DataLoader(Mushrooms(48, args.classes, args.size), batch_size=16)

    model = build_model(args)
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=1e-2)

    for ep in range(args.epochs):
        tr = run_epoch(model, train_dl, opt)
        va = run_epoch(model, val_dl)
        print(f"{ep}: train {tr[0]:.3f}/{tr[1]:.2f}  val {va[0]:.3f}/{va[1]:.2f}")


if __name__ == "__main__":
    main()
