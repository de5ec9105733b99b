import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WakeWordNet(nn.Module):
    """Says whether a one-second clip of mel features has the wake word in it."""

    def __init__(self, n_mels=40):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(n_mels, 64, 5, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(64, 64, 5, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.classifier = nn.Linear(64, 1)

    def forward(self, mel):
        z = self.features(mel).flatten(1)
        return self.classifier(z)


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def _step(self, mel, label):
        logits = self.model(mel)
        loss = self.criterion(logits, label.float())
        return logits, loss

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for mel, label in self.train_loader:
            _, loss = self._step(mel, label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(label)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits = 0
        for mel, label in self.val_loader:
            logits, _ = self._step(mel, label)
            hits += ((logits.flatten() > 0).long() == label).sum().item()
        return hits / len(self.val_loader.dataset)

    def fit(self, epochs):
        for epoch in range(epochs):
            loss = self.train_epoch()
            print(f"epoch {epoch}: loss {loss:.4f}, val acc {self.validate():.3f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    labels = torch.randint(0, 2, (320,))
    mels = torch.randn(320, 40, 100) + 0.3 * labels[:, None, None]
    train = TensorDataset(mels[:256], labels[:256])
    val = TensorDataset(mels[256:], labels[256:])
    trainer = Trainer(WakeWordNet(), DataLoader(train, 32, shuffle=True), DataLoader(val, 32))
    trainer.fit(epochs=3)
