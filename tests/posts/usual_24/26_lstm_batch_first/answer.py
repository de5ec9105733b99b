import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ActivityLSTM(nn.Module):
    """Human activity recognition from accelerometer windows."""

    def __init__(self, n_features=6, hidden_size=64, num_classes=5):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden_size, num_layers=1, batch_first=True)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        out, _ = self.lstm(x)
        last = out[:, -1, :]
        return self.fc(last)


def make_windows(n, length=50, n_features=6, num_classes=5, seed=0):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, num_classes, (n,), generator=g)
    t = torch.arange(length).float()
    freq = 0.1 + 0.12 * labels.float()
    phase = 6.28 * torch.rand(n, 1, generator=g)
    wave = torch.sin(freq[:, None] * t[None, :] + phase)
    x = wave.unsqueeze(-1) * torch.ones(n_features) + 0.2 * torch.randn(n, length, n_features, generator=g)
    return TensorDataset(x, labels)


def train(model, loader, optimizer, criterion):
    model.train()
    total_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * x.shape[0]
    return total_loss / len(loader.dataset)


@torch.no_grad()
def test(model, loader):
    model.eval()
    correct = sum((model(x).argmax(-1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_windows(800, seed=0), batch_size=32, shuffle=True)
    test_loader = DataLoader(make_windows(200, seed=1), batch_size=32)
    model = ActivityLSTM()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(8):
        loss = train(model, train_loader, optimizer, criterion)
        print(f"epoch {epoch}: loss {loss:.4f}, test acc {test(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
