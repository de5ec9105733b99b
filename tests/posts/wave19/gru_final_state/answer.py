import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Gestures(Dataset):
    """Three axis accelerometer windows of four gestures."""

    def __init__(self, n, seed, length=30):
        rng = np.random.default_rng(seed)
        t = np.linspace(0, 1, length)
        self.labels = rng.integers(0, 4, n)
        windows = []
        for label in self.labels:
            phase = rng.uniform(0, 2 * np.pi)
            freq = 1.5 + label
            x = np.stack([
                np.sin(2 * np.pi * freq * t + phase),
                np.cos(2 * np.pi * freq * t + phase),
                (label % 2) * t,
            ], axis=1)
            windows.append(x + 0.2 * rng.normal(size=x.shape))
        self.windows = np.stack(windows).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.windows[i]), int(self.labels[i])


class GestureGRU(nn.Module):
    def __init__(self, n_features=3, hidden_size=32, num_layers=2, n_classes=4):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.gru = nn.GRU(n_features, hidden_size, num_layers, batch_first=True)
        self.classifier = nn.Sequential(
            nn.Linear(num_layers * hidden_size, 32),
            nn.ReLU(),
            nn.Linear(32, n_classes),
        )

    def forward(self, x):
        batch_size = x.size(0)
        output, hidden = self.gru(x)
        hidden = hidden.transpose(0, 1).reshape(batch_size, self.num_layers * self.hidden_size)
        return self.classifier(hidden)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Gestures(800, seed=0), batch_size=32, shuffle=True)
    test_loader = DataLoader(Gestures(200, seed=1), batch_size=50)

    model = GestureGRU()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item() * len(y)
        print(f"epoch {epoch}: loss {running / len(train_loader.dataset):.3f} "
              f"test accuracy {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
