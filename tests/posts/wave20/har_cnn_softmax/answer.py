import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

ACTIVITIES = ["walk", "upstairs", "downstairs", "sit", "stand", "lie"]


def make_windows(n, length=128, seed=0):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, len(ACTIVITIES), n)
    t = np.arange(length) / 50.0
    xs = np.zeros((n, 9, length), dtype=np.float32)
    for i, lab in enumerate(labels):
        freq = 0.6 + 0.7 * lab
        for c in range(9):
            xs[i, c] = np.sin(2 * np.pi * freq * t + rng.rand() * 6.28 + c * lab * 0.3)
    xs += 0.4 * rng.randn(*xs.shape).astype(np.float32)
    return torch.from_numpy(xs), torch.from_numpy(labels).long()


class HARNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Sequential(
            nn.Conv2d(9, 32, kernel_size=(1, 9)), nn.ReLU(), nn.MaxPool2d((1, 2), stride=2)
        )
        self.conv2 = nn.Sequential(
            nn.Conv2d(32, 64, kernel_size=(1, 9)), nn.ReLU(), nn.MaxPool2d((1, 2), stride=2)
        )
        self.fc1 = nn.Linear(64 * 26, 200)
        self.fc2 = nn.Linear(200, 50)
        self.fc3 = nn.Linear(50, n_classes)

    def forward(self, x):
        out = self.conv1(x)
        out = self.conv2(out)
        out = out.reshape(out.size(0), -1)
        out = F.relu(self.fc1(out))
        out = F.relu(self.fc2(out))
        out = self.fc3(out)
        return out


def evaluate(model, loader):
    model.eval()
    hit, total = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(1) == y).sum().item()
            total += y.size(0)
    return hit / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--momentum", type=float, default=0.9)
    args = parser.parse_args()

    torch.manual_seed(1)
    x_train, y_train = make_windows(1200, seed=0)
    x_test, y_test = make_windows(300, seed=1)
    train_loader = DataLoader(TensorDataset(x_train.unsqueeze(2), y_train), args.batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(x_test.unsqueeze(2), y_test), args.batch_size)

    model = HARNet(len(ACTIVITIES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)

    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * y.size(0)
        acc = evaluate(model, test_loader)
        print(f"epoch {epoch + 1}: loss {running / len(y_train):.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
