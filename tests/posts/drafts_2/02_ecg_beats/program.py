import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

parser = argparse.ArgumentParser(description="Heartbeat classification from ECG")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--hidden", type=int, default=32)
args = parser.parse_args()

torch.manual_seed(1)
rng = np.random.default_rng(1)

CLASSES = ["normal", "atrial", "ventricular", "fusion"]
N_LEADS = 2
BEAT_LEN = 120


def make_beats(n):
    """Return synthetic beats and the cardiologist's class codes."""
    t = np.linspace(0, 1, BEAT_LEN)
    codes = rng.integers(1, len(CLASSES) + 1, n)
    beats = np.stack([np.sin(2 * np.pi * c * t) for c in codes])
    beats = np.repeat(beats[:, :, None], N_LEADS, axis=2)
    beats = beats + 0.3 * rng.standard_normal(beats.shape)
    return beats.astype(np.float32), codes


class BeatNet(nn.Module):
    def __init__(self, n_leads, hidden, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(n_leads, 16, kernel_size=7, padding=3),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.MaxPool1d(4),
        )
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.head = nn.Linear(hidden, n_classes)

    def forward(self, x):
        x = self.conv(x)
        x = x.reshape(x.size(0), -1, 16)
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def accuracy(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for beats, target in loader:
            pred = model(beats).argmax(dim=1)
            correct += (pred == target).sum().item()
            total += target.size(0)
    return correct / total


def main():
    x_train, y_train = make_beats(480)
    x_val, y_val = make_beats(120)
    train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
    val_set = TensorDataset(torch.from_numpy(x_val), torch.from_numpy(y_val))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = BeatNet(N_LEADS, args.hidden, len(CLASSES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for beats, target in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(beats), target)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}  val acc {accuracy(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
