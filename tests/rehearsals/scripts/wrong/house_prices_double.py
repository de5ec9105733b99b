"""House prices, k-fold cross validation."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def houses(n=100, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.uniform(40, 200, n)
    rooms = rng.integers(1, 7, n)
    age = rng.uniform(0, 90, n)
    price = 2.1 * area + 9 * rooms - 0.4 * age + rng.normal(0, 5, n)
    x = np.column_stack([area, rooms, age])
    return (x - x.mean(0)) / x.std(0), (price - price.mean()) / price.std()


def folds(n, k):
    order = np.random.default_rng(1).permutation(n)
    parts = np.array_split(order, k)
    for i in range(k):
        rest = np.concatenate([p for j, p in enumerate(parts) if j != i])
        yield rest, parts[i]


def make_net():
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))


def train_fold(dataset, train_ids, val_ids, epochs=2):
    loader = DataLoader(Subset(dataset, train_ids), batch_size=16, shuffle=True)
    net = make_net()
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(net(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        x, y = zip(*[dataset[i] for i in val_ids])
        x, y = torch.stack(x), torch.stack(y)
        return loss_fn(net(x).squeeze(1), y).item()


def main():
    torch.manual_seed(0)
    x, y = houses()
    dataset = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    scores = []
    for fold, (train_ids, val_ids) in enumerate(folds(len(dataset), 4)):
        scores.append(train_fold(dataset, train_ids, val_ids))
        print(f"fold {fold}: {scores[-1]:.4f}")
    print(f"mean {np.mean(scores):.4f} +- {np.std(scores):.4f}")


if __name__ == "__main__":
    main()
