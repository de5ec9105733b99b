import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SensorWindows(Dataset):
    def __init__(self, n_windows=300, length=50, channels=3, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 4, n_windows)
        t = np.arange(length)
        windows = []
        for label in self.labels:
            phase = rng.uniform(0, 0.5, size=(1, channels))
            clean = np.sin(t[:, None] * (label + 1) / 6 + phase)
            windows.append(clean + 0.1 * rng.normal(size=(length, channels)))
        self.windows = np.stack(windows).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.from_numpy(self.windows[index]), int(self.labels[index])


class ActivityClassifier(nn.Module):
    def __init__(self, channels=3, hidden=64, n_classes=4):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden, num_layers=2, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(hidden, 32),
            nn.ReLU(),
            nn.Linear(32, n_classes),
        )

    def forward(self, x):
        output, _ = self.lstm(x)
        return self.head(output[:, -1])


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total, correct, count = 0.0, 0, 0
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * y.size(0)
        correct += (logits.argmax(dim=1) == y).sum().item()
        count += y.size(0)
    return total / count, correct / count


def main():
    torch.manual_seed(0)
    loader = DataLoader(SensorWindows(), batch_size=25, shuffle=True)
    model = ActivityClassifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        loss, acc = run_epoch(model, loader, criterion, optimizer)
        print(f"epoch {epoch}: loss {loss:.3f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
