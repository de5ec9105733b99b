import argparse
import torch
import torch.nn as nn


def parse_args():
    p = argparse.ArgumentParser(description="tabular churn model")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--device", default="gpu")
    return p.parse_args()


def make_data(n=512, d=12):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(n, d, generator=g)
    w = torch.randn(d, generator=g)
    return x, (x @ w > 0).float()


def main():
    args = parse_args()
    device = torch.device(args.device)
    x, y = make_data()
    x, y = x.to(device), y.to(device)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    loss_fn = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        opt.zero_grad()
        loss = loss_fn(model(x).squeeze(1), y)
        loss.backward()
        opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
