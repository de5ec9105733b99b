import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn


class MLP(nn.Module):
    def __init__(self, in_dim, hidden, out_dim):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(in_dim, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
        )
        self.head = nn.Linear(hidden, out_dim)

    def forward(self, x):
        return self.head(self.body(x))


def save_checkpoint(path, model, optimizer, epoch, args):
    torch.save(
        {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "args": args,
        },
        path,
    )


def load_checkpoint(path, model, optimizer):
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    return ckpt["epoch"] + 1


def train_epoch(model, optimizer, x, y, batch_size):
    model.train()
    losses = []
    for idx in torch.randperm(len(x)).split(batch_size):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


def main(args):
    torch.manual_seed(args.seed)
    x = torch.randn(512, 10)
    y = torch.sin(x[:, :2]).sum(dim=1, keepdim=True)

    with tempfile.TemporaryDirectory() as out_dir:
        path = os.path.join(out_dir, "last.pt")

        model = MLP(10, args.hidden, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        for epoch in range(args.epochs // 2):
            print(epoch, train_epoch(model, optimizer, x, y, args.batch_size))
            save_checkpoint(path, model, optimizer, epoch, args)

        # the job is preempted here and starts again
        model = MLP(10, args.hidden, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        start = load_checkpoint(path, model, optimizer)
        for epoch in range(start, args.epochs):
            print(epoch, train_epoch(model, optimizer, x, y, args.batch_size))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
