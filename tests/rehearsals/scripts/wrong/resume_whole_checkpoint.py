import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AutoEncoder(nn.Module):
    def __init__(self, inputs=30, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 16), nn.ELU(), nn.Linear(16, code))
        self.decoder = nn.Sequential(nn.Linear(code, 16), nn.ELU(), nn.Linear(16, inputs))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def transactions(n, fraud=0.0, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 30))
    odd = rng.random(n) < fraud
    base[odd] += rng.normal(0, 3, (odd.sum(), 30))
    return torch.tensor(base, dtype=torch.float), torch.tensor(odd)


def save_checkpoint(model, optimizer, epoch, loss, folder):
    torch.save({
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "loss": loss,
    }, Path(folder) / "best.pth")


def train(args):
    x, _ = transactions(128)
    loader = DataLoader(TensorDataset(x), batch_size=args.batch_size, shuffle=True)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    best = float("inf")
    for epoch in range(args.epochs):
        running = 0.0
        for (batch,) in loader:
            loss = nn.functional.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(batch)
        running /= len(loader.dataset)
        print(f"epoch {epoch}: {running:.4f}")
        if running < best:
            best = running
            save_checkpoint(model, optimizer, epoch, best, args.folder)


@torch.no_grad()
def test(args):
    model = AutoEncoder()
    checkpoint = torch.load(Path(args.folder) / "best.pth", map_location="cpu")
    model.load_state_dict(checkpoint)
    model.eval()
    x, odd = transactions(60, fraud=0.2, seed=0)
    error = (model(x) - x).pow(2).mean(dim=1)
    flagged = error > error.median() * 2
    print("found", (flagged & odd).sum().item(), "of", odd.sum().item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--folder", default=os.path.join(tempfile.mkdtemp(), "run"))
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    torch.manual_seed(0)
    train(args)
    test(args)
