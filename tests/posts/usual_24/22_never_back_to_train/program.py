import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EEGNet(nn.Module):
    def __init__(self, channels=16, n_classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(channels, 32, 7, padding=3), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(4),
            nn.Dropout(0.4),
            nn.Conv1d(32, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.4), nn.Linear(32, n_classes))

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=3e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def evaluate(self):
        self.model.eval()
        correct, count, loss_sum = 0, 0, 0.0
        with torch.no_grad():
            for x, y in self.val_loader:
                out = self.model(x)
                loss_sum += self.criterion(out, y).item() * len(y)
                correct += (out.argmax(1) == y).sum().item()
                count += len(y)
        return loss_sum / count, correct / count

    def train_epoch(self):
        loss_sum, count = 0.0, 0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            loss_sum += loss.item() * len(y)
            count += len(y)
        return loss_sum / count

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            train_loss = self.train_epoch()
            val_loss, val_acc = self.evaluate()
            print(f"epoch {epoch}: train {train_loss:.3f} val {val_loss:.3f} acc {val_acc:.3f}")


def make_data(n, generator):
    y = torch.randint(0, 3, (n,), generator=generator)
    x = torch.randn(n, 16, 128, generator=generator)
    t = torch.arange(128) / 128
    for k in range(3):
        x[y == k, :4] += 0.5 * torch.sin(2 * torch.pi * (4 + 6 * k) * t)
    return TensorDataset(x, y)


if __name__ == "__main__":
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    train_loader = DataLoader(make_data(240, g), batch_size=24, shuffle=True)
    val_loader = DataLoader(make_data(120, g), batch_size=60)
    Trainer(EEGNet(), train_loader, val_loader).fit(epochs=25)
