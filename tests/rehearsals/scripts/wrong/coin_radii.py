import argparse
import logging
import sys

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("coins")


class Coins(Dataset):
    """Discs of four radii at random places."""

    radii = (3, 4, 5, 6)

    def __init__(self, n, seed, size=20):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 4, (n,), generator=g)
        self.centres = torch.randint(7, size - 7, (n, 2), generator=g)
        self.noise = torch.randn(n, size, size, generator=g) * 0.5
        self.size = size

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        grid = torch.arange(self.size)
        dy = (grid - self.centres[i, 0])[:, None] ** 2
        dx = (grid - self.centres[i, 1])[None, :] ** 2
        disc = (dy + dx <= self.radii[self.labels[i]] ** 2).float()
        return (disc + self.noise[i]).unsqueeze(0), self.labels[i]


class CoinNet(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, stride=2)
        self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 16, 3, stride=2)
        self.b2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(16 * 4 * 4, 4)

    def forward(self, x):
        x = torch.relu(self.b1(self.c1(x)))
        x = torch.relu(self.b2(self.c2(x)))
        return self.fc(self.drop(x.flatten(1)))


class Trainer:
    def __init__(self, model, train_loader, val_loader, args):
        self.model = model
        self.train_loader, self.val_loader = train_loader, val_loader
        self.optimizer = optim.Adam(model.parameters(), lr=args.lr)
        self.criterion = nn.CrossEntropyLoss()
        self.args = args

    def _train_epoch(self):
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    def _validate(self):
        self.model.eval()
        correct = 0
        with torch.no_grad():
            for x, y in self.val_loader:
                correct += (self.model(x).argmax(1) == y).sum().item()
        return correct / len(self.val_loader.dataset)

    def fit(self):
        self.model.train()
        for epoch in range(self.args.epochs):
            loss = self._train_epoch()
            acc = self._validate()
            log.info("epoch %d loss %.4f val acc %.3f", epoch, loss, acc)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--dropout", type=float, default=0.3)
    args = parser.parse_args()
    torch.manual_seed(0)
    trainer = Trainer(CoinNet(args.dropout), DataLoader(Coins(300, 0), 32, shuffle=True),
                      DataLoader(Coins(90, 1), 32), args)
    trainer.fit()
