import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def two_spirals(n=1500, noise=0.15):
    theta = torch.sqrt(torch.rand(n)) * 3 * torch.pi
    label = torch.randint(0, 2, (n,))
    r = theta * (2 * label - 1)
    x = torch.stack([r * torch.cos(theta), r * torch.sin(theta)], dim=1) / 10
    return x + noise * torch.randn(n, 2) / 5, label


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, n_in, width, depth, n_out):
        super().__init__()
        self.stem = nn.Linear(n_in, width)
        self.blocks = [Block(width) for _ in range(depth)]
        self.head = nn.Linear(width, n_out)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def accuracy(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
            total += len(y)
    return correct / total


def main(args):
    torch.manual_seed(args.seed)
    x, y = two_spirals()
    train_set, val_set = random_split(TensorDataset(x, y), [1200, 300])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=300)

    model = ResMLP(2, args.width, args.depth, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1}: loss {loss.item():.3f} val acc {accuracy(model, val_loader):.3f}")
    torch.save(model.state_dict(), "/tmp/resmlp.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=0)
    main(p.parse_args())
