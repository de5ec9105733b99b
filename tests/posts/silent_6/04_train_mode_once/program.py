import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ReviewSet(Dataset):
    """Token sequences; the sentiment is decided by a few cue words."""

    def __init__(self, n, vocab, length, generator):
        self.x = torch.randint(20, vocab, (n, length), generator=generator)
        self.y = torch.randint(0, 2, (n,), generator=generator)
        for i in range(n):
            spots = torch.randperm(length, generator=generator)[:2]
            low = 10 if self.y[i] == 1 else 0
            self.x[i, spots] = torch.randint(low, low + 10, (2,), generator=generator)
        flip = torch.rand(n, generator=generator) < 0.12
        self.y[flip] = 1 - self.y[flip]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim, p):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(p)
        self.hidden = nn.Linear(dim, 64)
        self.out = nn.Linear(64, 2)

    def forward(self, tokens):
        h = self.drop(self.emb(tokens)).mean(dim=1)
        h = self.drop(torch.relu(self.hidden(h)))
        return self.out(h)


def evaluate(model, loader, criterion):
    model.eval()
    loss, right, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, right / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--dropout", type=float, default=0.6)
    parser.add_argument("--vocab", type=int, default=800)
    args = parser.parse_args()

    torch.manual_seed(0)
    g = torch.Generator().manual_seed(5)
    train_loader = DataLoader(ReviewSet(900, args.vocab, 24, g), batch_size=32, shuffle=True)
    val_loader = DataLoader(ReviewSet(400, args.vocab, 24, g), batch_size=200)

    model = BagOfWords(args.vocab, 48, args.dropout)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    model.train()
    for epoch in range(args.epochs):
        running, n = 0.0, 0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(y)
            n += len(y)
        val_loss, val_acc = evaluate(model, val_loader, criterion)
        print(f"{epoch:2d} train {running / n:.4f} val {val_loss:.4f} acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
