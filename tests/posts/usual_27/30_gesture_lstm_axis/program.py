import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

GESTURES = ["circle", "swipe", "shake", "tap"]
STEPS = 50
SENSORS = 6


class GestureDataset(Dataset):
    """Six motion sensors, fifty samples per gesture; the gesture is over before the recording ends."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, len(GESTURES), n)
        t = np.arange(30) / 30
        shapes = np.stack([
            np.sin(2 * np.pi * t),
            np.exp(-((t - 0.5) ** 2) / 0.02),
            np.sin(2 * np.pi * 6 * t),
            (t < 0.15).astype(float),
        ])
        self.x = rng.normal(0, 0.25, (n, STEPS, SENSORS))
        for i, k in enumerate(self.y):
            start = rng.integers(0, 12)
            gains = rng.uniform(0.6, 1.4, SENSORS)
            self.x[i, start:start + 30] += shapes[k][:, None] * gains
        self.x = self.x.astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.tensor(self.y[i])


class MotionEncoder(nn.Module):
    def __init__(self, sensors, hidden, layers=1):
        super().__init__()
        self.project = nn.Linear(sensors, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=layers)

    def forward(self, x):
        out, _ = self.lstm(torch.relu(self.project(x)))
        return out[:, -1]


class GestureClassifier(nn.Module):
    def __init__(self, sensors, n_gestures, hidden=40):
        super().__init__()
        self.encoder = MotionEncoder(sensors, hidden)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, n_gestures))

    def forward(self, x):
        return self.head(self.encoder(x))


def one_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    losses, hits = 0.0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            losses += loss.item() * y.numel()
            hits += (out.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return losses / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(GestureDataset(480, 0), batch_size=24, shuffle=True)
    valid_loader = DataLoader(GestureDataset(120, 1), batch_size=24)
    model = GestureClassifier(SENSORS, len(GESTURES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 13):
        train_loss, train_acc = one_epoch(model, train_loader, criterion, optimizer)
        valid_loss, valid_acc = one_epoch(model, valid_loader, criterion)
        if epoch % 4 == 0:
            print(f"epoch {epoch}: train {train_loss:.3f}/{train_acc:.2f} valid {valid_loss:.3f}/{valid_acc:.2f}")
