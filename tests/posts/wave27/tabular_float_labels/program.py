import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FEATURES = ["area", "perimeter", "compactness", "length", "width", "asymmetry", "groove"]


def load_seeds(n_rows=420):
    rng = np.random.default_rng(7)
    variety = rng.integers(0, 3, n_rows)
    centers = rng.normal(0, 2, (3, len(FEATURES)))
    values = centers[variety] + rng.normal(0, 1, (n_rows, len(FEATURES)))
    frame = pd.DataFrame(values, columns=FEATURES)
    frame["variety"] = variety
    return frame


def build_dataset(frame):
    x = frame[FEATURES].to_numpy()
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = frame["variety"].to_numpy()
    features = torch.tensor(x, dtype=torch.float32)
    labels = torch.tensor(y, dtype=torch.float32)
    return TensorDataset(features, labels)


class SeedClassifier(nn.Module):
    def __init__(self, in_features, hidden, num_classes):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_features, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, x):
        return self.layers(x)


def train_one_epoch(model, loader, loss_fn, optimizer):
    model.train()
    total = 0.0
    for features, labels in loader:
        optimizer.zero_grad()
        output = model(features)
        loss = loss_fn(output, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * features.size(0)
    return total / len(loader.dataset)


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for features, labels in loader:
            predicted = model(features).argmax(dim=1)
            correct += (predicted == labels).sum().item()
    return correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    dataset = build_dataset(load_seeds())
    train_set, test_set = random_split(dataset, [320, 100])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=50)

    model = SeedClassifier(len(FEATURES), 32, 3)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(10):
        loss = train_one_epoch(model, train_loader, loss_fn, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f}, test accuracy {accuracy(model, test_loader):.3f}")
