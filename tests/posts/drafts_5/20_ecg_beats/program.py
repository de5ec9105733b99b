import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

BEATS = ["normal", "early", "ventricular"]


def simulate_beats(n=1200, length=180, seed=10):
    rng = np.random.default_rng(seed)
    t = np.linspace(-0.4, 0.5, length)
    y = rng.choice(3, n, p=[0.5, 0.25, 0.25])
    x = np.zeros((n, 1, length), dtype=np.float32)
    for i, kind in enumerate(y):
        width = 0.016 * rng.uniform(0.6, 1.6) if kind < 2 else 0.03 * rng.uniform(0.6, 1.4)
        p_wave = 0.2 if kind == 0 else 0.05
        x[i, 0] = rng.uniform(0.7, 1.3) * np.exp(-((t / width) ** 2))
        x[i, 0] += p_wave * np.exp(-(((t + 0.16) / 0.03) ** 2))
        x[i, 0] += 0.3 * np.exp(-(((t - 0.25) / 0.06) ** 2))
        x[i, 0] += 0.1 * rng.standard_normal(length)
    return x, y


class BeatNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(3),
        )
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(32 * 15, n_classes)

    def forward(self, x):
        x = self.body(x).flatten(1)
        return self.fc(self.drop(x))


def train(model, loader, epochs):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=4, gamma=0.1)
    for epoch in range(epochs):
        model.train()
        running, correct, seen = 0.0, 0, 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            seen += len(y)
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch + 1:2d}: loss {running / seen:.3f} acc {correct / seen:.3f} lr {lr:.1e}")


def predict(model, loader):
    model.eval()
    outputs, truth = [], []
    with torch.no_grad():
        for x, y in loader:
            outputs.append(model(x))
            truth.append(y)
    return torch.cat(outputs).numpy(), torch.cat(truth).numpy()


if __name__ == "__main__":
    torch.manual_seed(10)
    x, y = simulate_beats()
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
    train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
    test_set = TensorDataset(torch.from_numpy(x_test), torch.from_numpy(y_test))
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=64)

    model = BeatNet()
    train(model, train_loader, epochs=8)
    predictions, truth = predict(model, test_loader)
    print(classification_report(truth, predictions, target_names=BEATS))
