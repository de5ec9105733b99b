import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Mails(Dataset):
    def __init__(self, n, vocab=300, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = (torch.rand(n, generator=g) < 0.4).float()
        base = torch.ones(vocab)
        spam = base.clone()
        spam[:25] = 4.0
        self.counts = torch.zeros(n, vocab)
        for i in range(n):
            weights = spam if self.labels[i] == 1 else base
            words = torch.multinomial(weights, 30, replacement=True, generator=g)
            self.counts[i] = torch.bincount(words, minlength=vocab).float()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.counts[i], self.labels[i]


class SpamNet(nn.Module):
    def __init__(self, vocab=300):
        super().__init__()
        self.fc1 = nn.Linear(vocab, 32)
        self.drop = nn.Dropout(0.3)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, counts):
        h = self.drop(torch.relu(self.fc1(counts)))
        return self.fc2(h)


class Learner:
    def __init__(self, model, train_loader, valid_loader):
        self.model = model
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train(self):
        self.model.train()
        total = 0.0
        for counts, label in self.train_loader:
            self.optimizer.zero_grad()
            logits = self.model(counts)
            loss = self.criterion(logits, label.unsqueeze(1))
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(label)
        return total / len(self.train_loader.dataset)

    def valid(self):
        self.model.eval()
        total, correct = 0.0, 0
        with torch.no_grad():
            for counts, label in self.valid_loader:
                logits = self.model(counts)
                total += self.criterion(logits, label.unsqueeze(1)).item() * len(label)
                pred = (logits.squeeze(1) > 0).float()
                correct += (pred == label).sum().item()
        n = len(self.valid_loader.dataset)
        return total / n, correct / n

    def fit(self, epochs):
        for epoch in range(epochs):
            train_loss = self.train()
            valid_loss, acc = self.valid()
            print(f"epoch {epoch + 1} train {train_loss:.4f} valid {valid_loss:.4f} acc {acc:.4f}")


torch.manual_seed(0)
train_loader = DataLoader(Mails(1200, seed=1), batch_size=32, shuffle=True)
valid_loader = DataLoader(Mails(400, seed=2), batch_size=100)
Learner(SpamNet(), train_loader, valid_loader).fit(8)
