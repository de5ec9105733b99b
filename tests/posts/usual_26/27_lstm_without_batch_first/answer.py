from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Hparams:
    vocab: int = 12
    dim: int = 24
    hidden: int = 48
    batch: int = 32
    steps: int = 16
    lr: float = 5e-3
    epochs: int = 8


class ClickSessions(Dataset):
    """Clicks in a web shop; a session is a sale when the cart page (3) was
    opened somewhere and the exit page (7) never came after it."""

    def __init__(self, n, hp, seed):
        g = torch.Generator().manual_seed(seed)
        self.clicks = torch.randint(0, hp.vocab, (n, hp.steps), generator=g)
        self.sale = torch.tensor([self._is_sale(row.tolist()) for row in self.clicks])

    @staticmethod
    def _is_sale(row):
        if 3 not in row:
            return 0
        return int(7 not in row[row.index(3):])

    def __len__(self):
        return len(self.sale)

    def __getitem__(self, i):
        return self.clicks[i], self.sale[i]


class SessionEncoder(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.embed = nn.Embedding(hp.vocab, hp.dim)
        self.lstm = nn.LSTM(hp.dim, hp.hidden, num_layers=1, batch_first=True)
        self.norm = nn.LayerNorm(hp.hidden)

    def forward(self, clicks):
        out, _ = self.lstm(self.embed(clicks))
        return self.norm(out[:, -1])


class SaleModel(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.encoder = SessionEncoder(hp)
        self.head = nn.Sequential(nn.Linear(hp.hidden, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, clicks):
        return self.head(self.encoder(clicks))


def evaluate(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for clicks, sale in loader:
            hits += (model(clicks).argmax(1) == sale).sum().item()
    return hits / len(loader.dataset)


def main():
    hp = Hparams()
    torch.manual_seed(2024)
    train_set, test_set = ClickSessions(2000, hp, 0), ClickSessions(400, hp, 1)
    train_loader = DataLoader(train_set, hp.batch, shuffle=True)
    test_loader = DataLoader(test_set, hp.batch)
    model = SaleModel(hp)
    optimizer = torch.optim.Adam(model.parameters(), lr=hp.lr)
    criterion = nn.CrossEntropyLoss()
    majority = max(test_set.sale.float().mean().item(), 1 - test_set.sale.float().mean().item())
    print(f"always guessing the larger class: {majority:.3f}")
    for epoch in range(hp.epochs):
        model.train()
        total = 0.0
        for clicks, sale in train_loader:
            loss = criterion(model(clicks), sale)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(sale)
        print(f"epoch {epoch}: loss {total / len(train_set):.4f}, test acc {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
