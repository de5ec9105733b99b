import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class StarReviews(Dataset):
    """Reviews as bags of word counts, with a rating from one to five stars."""

    def __init__(self, n=1000, vocab=300):
        g = torch.Generator().manual_seed(0)
        self.counts = torch.poisson(torch.full((n, vocab), 0.3), generator=g)
        weights = torch.randn(vocab, generator=g)
        score = self.counts @ weights
        edges = torch.quantile(score, torch.tensor([0.2, 0.4, 0.6, 0.8]))
        self.stars = torch.bucketize(score, edges) + 1

    def __len__(self):
        return len(self.stars)

    def __getitem__(self, i):
        return self.counts[i], self.stars[i]


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += y.numel()
    return correct / total


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=50)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--num-classes", type=int, default=5)
    args = p.parse_args()

    torch.manual_seed(0)
    data = StarReviews()
    train_set, val_set = random_split(data, [800, 200])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = nn.Sequential(
        nn.Linear(300, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, args.num_classes)
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}  val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
