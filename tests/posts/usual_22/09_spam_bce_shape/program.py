import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split


class SpamDataset(Dataset):
    """Bag-of-words counts of messages; 1 = spam, 0 = ham."""

    def __init__(self, n=400, vocab=200):
        g = torch.Generator().manual_seed(0)
        self.counts = torch.poisson(torch.full((n, vocab), 0.3), generator=g)
        score = self.counts[:, :10].sum(1) - self.counts[:, 10:20].sum(1)
        self.labels = (score > 0).float()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.counts[i], self.labels[i]


class SpamClassifier(nn.Module):
    def __init__(self, vocab=200, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(vocab, hidden),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            logits = self.model(x)
            loss = self.criterion(logits, y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        correct = 0
        for x, y in self.val_loader:
            pred = (self.model(x).squeeze(1) > 0).float()
            correct += (pred == y).sum().item()
        return correct / len(self.val_loader.dataset)

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            loss = self.train_epoch()
            print(f"epoch {epoch}: loss {loss:.4f}, val acc {self.evaluate():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_set, val_set = random_split(SpamDataset(), [320, 80])
    trainer = Trainer(
        SpamClassifier(),
        DataLoader(train_set, batch_size=32, shuffle=True),
        DataLoader(val_set, batch_size=32),
    )
    trainer.fit(5)
