import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def make_patients(n=303, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10))
    risk = 1.5 * x[:, 0] - x[:, 3] + 0.8 * x[:, 5] * x[:, 6]
    y = (risk + rng.normal(scale=0.5, size=n) > 0).astype(np.float32)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def kfold(n, k, seed):
    order = np.random.default_rng(seed).permutation(n)
    folds = np.array_split(order, k)
    for i in range(k):
        train = np.concatenate([f for j, f in enumerate(folds) if j != i])
        yield train.tolist(), folds[i].tolist()


def make_model(hidden):
    return nn.Sequential(nn.Linear(10, hidden), nn.ReLU(), nn.Linear(hidden, 1), nn.Flatten(0))


def f1_score(pred, target):
    tp = int(((pred == 1) & (target == 1)).sum())
    fp = int(((pred == 1) & (target == 0)).sum())
    fn = int(((pred == 0) & (target == 1)).sum())
    return 2 * tp / max(2 * tp + fp + fn, 1)


def train_fold(model, optimizer, loader, epochs):
    loss_fn = nn.BCEWithLogitsLoss()
    model.train()
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def predict(model, loader):
    model.eval()
    scores, targets = [], []
    for x, y in loader:
        scores.append(torch.sigmoid(model(x)))
        targets.append(y)
    return torch.cat(scores), torch.cat(targets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    data = TensorDataset(*make_patients())
    model = make_model(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scores = []
    for fold, (train_idx, test_idx) in enumerate(kfold(len(data), args.k, seed=0)):
        model = make_model(args.hidden)
        train_loader = DataLoader(Subset(data, train_idx), batch_size=32, shuffle=True)
        test_loader = DataLoader(Subset(data, test_idx), batch_size=32)
        last = train_fold(model, optimizer, train_loader, args.epochs)
        prob, target = predict(model, test_loader)
        pred = (prob > 0.5).float()
        acc = (pred == target).float().mean().item()
        scores.append((acc, f1_score(pred, target)))
        print(f"fold {fold}: loss {last:.4f} acc {acc:.3f} f1 {scores[-1][1]:.3f}")
    acc, f1 = np.mean(scores, axis=0)
    print(f"mean acc {acc:.3f} mean f1 {f1:.3f}")


if __name__ == "__main__":
    main()
