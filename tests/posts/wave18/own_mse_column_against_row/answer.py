import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, Dataset


def house_prices(n=800, seed=0):
    rng = np.random.default_rng(seed)
    df = pd.DataFrame({'area': rng.uniform(40, 220, n), 'rooms': rng.integers(1, 8, n),
                       'age': rng.uniform(0, 80, n), 'distance': rng.uniform(0, 30, n)})
    df['price'] = (2.1 * df['area'] + 12 * df['rooms'] - 0.8 * df['age']
                   - 4 * df['distance'] + rng.normal(0, 12, n)) / 100
    return df


class TabularDataset(Dataset):
    def __init__(self, x, y):
        self.x = torch.tensor(x, dtype=torch.float32)
        self.y = torch.tensor(y, dtype=torch.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Regressor(nn.Module):
    def __init__(self, in_features, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(),
                                 nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


def loss_func(pred, target):
    return torch.mean((pred.squeeze(1) - target) ** 2)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            loss = loss_func(model(x), y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(x)
    return total / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=15)
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--lr', type=float, default=3e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    df = house_prices()
    train_df, val_df = train_test_split(df, test_size=0.2, random_state=0)
    features = ['area', 'rooms', 'age', 'distance']
    scaler = StandardScaler().fit(train_df[features])
    train_set = TabularDataset(scaler.transform(train_df[features]), train_df['price'].values)
    val_set = TabularDataset(scaler.transform(val_df[features]), val_df['price'].values)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = Regressor(len(features))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        tr = run_epoch(model, train_loader, optimizer)
        va = run_epoch(model, val_loader)
        print(f'epoch {epoch:2d} train mse {tr:.4f} val mse {va:.4f}')
    print('variance of the target', round(float(val_df['price'].var()), 4))


if __name__ == '__main__':
    main()
