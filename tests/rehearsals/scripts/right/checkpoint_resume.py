import argparse
import os
import random
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Echo(Dataset):
    def __len__(self):
        return 42

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        x = rng.integers(1, 20, 8)
        return torch.as_tensor(x), torch.as_tensor(x[::-1].copy())


class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.encoder = nn.GRU(16, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, 20)

    def forward(self, x):
        return self.out(self.encoder(self.embed(x))[0])


def save(path, epoch, model, optimizer, scheduler, best):
    torch.save({
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "rng": torch.get_rng_state(),
        "best": best,
    }, path)


def resume(path, model, optimizer, scheduler):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    torch.set_rng_state(checkpoint["rng"])
    return checkpoint["epoch"] + 1, checkpoint["best"]


def run(args, path, epochs):
    model = Reverser()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    start, best = 0, float("inf")
    if os.path.isfile(path):
        start, best = resume(path, model, optimizer, scheduler)
        print(f"=> resumed at epoch {start}, best {best:.4f}")
    loader = DataLoader(Echo(), batch_size=16, shuffle=True)
    for epoch in range(start, epochs):
        total, count = 0.0, 0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x).permute(0, 2, 1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * x.size(0)
            count += x.size(0)
        scheduler.step()
        best = min(best, total / count)
        save(path, epoch, model, optimizer, scheduler, best)
        print(f"epoch {epoch} loss {total / count:.4f} lr {scheduler.get_last_lr()[0]:.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        run(args, path, epochs=2)
        run(args, path, epochs=args.epochs)
