import collections
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

N_TRAIN, N_TEST = 420, 200
FAULT_RATE = 0.06


class Bearings(Dataset):
    """Vibration windows; the rare class has a knock in it."""

    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.y = (rng.rand(n) < FAULT_RATE).astype(np.int64)
        self.x = rng.randn(n, 64).astype(np.float32)
        for i in np.flatnonzero(self.y):
            at = rng.randint(0, 56)
            self.x[i, at:at + 8] += 3 * np.hanning(8)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def balanced_sampler(labels):
    counts = np.bincount(labels, minlength=2)
    weights = 1.0 / counts
    return WeightedRandomSampler(torch.as_tensor(weights), num_samples=len(labels), replacement=True)


def build():
    return nn.Sequential(
        nn.Unflatten(1, (1, 64)),
        nn.Conv1d(1, 8, 9, padding=4), nn.ReLU(),
        nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(8, 2),
    )


def roc_auc(scores, labels):
    order = np.argsort(-scores)
    hits = labels[order]
    tpr = np.cumsum(hits) / max(hits.sum(), 1)
    fpr = np.cumsum(1 - hits) / max((1 - hits).sum(), 1)
    return float(np.sum(np.diff(np.concatenate([[0], fpr])) * tpr))


def main():
    random.seed(0)
    torch.manual_seed(0)
    train_set, test_set = Bearings(N_TRAIN, 0), Bearings(N_TEST, 1)
    print(collections.Counter(train_set.y.tolist()))
    train_loader = DataLoader(train_set, batch_size=32, sampler=balanced_sampler(train_set.y))
    test_loader = DataLoader(test_set, batch_size=32)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(5):
        model.train()
        total, drawn = 0.0, 0
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            drawn += len(y)
        model.eval()
        scores, labels = [], []
        with torch.no_grad():
            for x, y in test_loader:
                scores.append(model(x).softmax(1)[:, 1].numpy())
                labels.append(y.numpy())
        auc = roc_auc(np.concatenate(scores), np.concatenate(labels))
        print("epoch %d loss %.4f auc %.4f" % (epoch, total / drawn, auc))


if __name__ == "__main__":
    main()
