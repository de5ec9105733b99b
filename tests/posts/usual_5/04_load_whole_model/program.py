"""Wine cultivar classifier: train, keep the best model on disk, reload it and predict."""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SAVE_DIR = tempfile.mkdtemp()
SAVE_PATH = os.path.join(SAVE_DIR, "wine_best.pth")


class WineNet(nn.Module):
    def __init__(self, in_features=13, hidden=32, n_classes=3):
        super(WineNet, self).__init__()
        self.fc1 = nn.Linear(in_features, hidden)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        x = F.relu(self.fc2(x))
        return self.out(x)


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 1.5, size=(3, 13))
    y = rng.integers(0, 3, size=360)
    X = centers[y] + rng.normal(0, 1.0, size=(360, 13))
    return X.astype(np.float32), y.astype(np.int64)


def accuracy(model, X, y):
    model.eval()
    with torch.no_grad():
        return (model(X).argmax(dim=1) == y).float().mean().item()


def train(X_train, y_train, X_val, y_val, epochs=12, batch_size=32):
    model = WineNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    best = -1.0
    for epoch in range(epochs):
        model.train()
        perm = torch.randperm(len(X_train))
        for start in range(0, len(perm), batch_size):
            idx = perm[start:start + batch_size]
            optimizer.zero_grad()
            loss = criterion(model(X_train[idx]), y_train[idx])
            loss.backward()
            optimizer.step()
        acc = accuracy(model, X_val, y_val)
        if acc > best:
            best = acc
            torch.save(model, SAVE_PATH)
            print(f"epoch {epoch}: val acc {acc:.3f} -> saved")
    return best


def predict(path, samples):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.load(path, map_location=device)
    model.eval()
    with torch.no_grad():
        probs = F.softmax(model(samples.to(device)), dim=1)
    return probs.cpu()


def main():
    torch.manual_seed(0)
    X, y = make_data()
    X_train, y_train = X[:240], y[:240]
    X_rest, y_rest = X[240:], y[240:]
    mean, std = X_train.mean(0), X_train.std(0)
    X_train = torch.from_numpy((X_train - mean) / std)
    X_rest = torch.from_numpy((X_rest - mean) / std)
    y_train, y_rest = torch.from_numpy(y_train), torch.from_numpy(y_rest)

    best = train(X_train, y_train, X_rest[:60], y_rest[:60])
    print(f"best validation accuracy: {best:.3f}")

    probs = predict(SAVE_PATH, X_rest[60:])
    test_acc = (probs.argmax(1) == y_rest[60:]).float().mean().item()
    print(f"test accuracy of the reloaded model: {test_acc:.3f}")


if __name__ == "__main__":
    main()
