import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVITIES = ["walk", "run", "sit"]
WINDOW = 64
N_SENSORS = 6


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(ACTIVITIES), n)
    t = np.arange(WINDOW)
    freq = np.array([2.0, 5.0, 0.3])[y]
    phase = rng.uniform(0, 2 * np.pi, (n, 1, N_SENSORS))
    x = np.sin(2 * np.pi * freq[:, None, None] * t[None, :, None] / WINDOW + phase)
    x = x + 0.2 * rng.standard_normal(x.shape)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.long)


class ActivityLSTM(nn.Module):
    def __init__(self, n_sensors, hidden_size, num_classes):
        super(ActivityLSTM, self).__init__()
        self.lstm = nn.LSTM(input_size=n_sensors, hidden_size=hidden_size, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        out, (h_n, c_n) = self.lstm(x)
        return self.fc(out[:, -1, :])


def run(model, loader, criterion, optimizer=None):
    train = optimizer is not None
    model.train(train)
    loss_sum, correct, n = 0.0, 0, 0
    with torch.set_grad_enabled(train):
        for x, y in loader:
            logits = model(x)
            loss = criterion(logits, y)
            if train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            correct += (logits.argmax(dim=1) == y).sum().item()
            n += len(y)
    return loss_sum / n, correct / n


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TensorDataset(*simulate(480, 0)), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(*simulate(120, 1)), batch_size=32)
    model = ActivityLSTM(N_SENSORS, 64, len(ACTIVITIES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        train_loss, train_acc = run(model, train_loader, criterion, optimizer)
        val_loss, val_acc = run(model, val_loader, criterion)
        print(f"{epoch:2d} train {train_loss:.3f}/{train_acc:.3f} val {val_loss:.3f}/{val_acc:.3f}")


if __name__ == "__main__":
    main()
