import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Sampler


class SensorWindows(Dataset):
    """Sliding windows over a few sensor channels, target is the next value of channel 0."""

    def __init__(self, length, window, seed):
        rng = np.random.default_rng(seed)
        t = np.arange(length)
        base = np.stack([np.sin(t / 7), np.cos(t / 11), np.sin(t / 23)], axis=1)
        series = base + 0.1 * rng.standard_normal(base.shape)
        self.series = torch.tensor(series, dtype=torch.float32)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        return self.series[i:i + self.window], self.series[i + self.window, :1]


class BasicBatchSampler(Sampler):
    """Shuffled prediction points, cut into batches."""

    def __init__(self, num_points, batch_size, shuffle, seed=0):
        self.num_points = num_points
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.rng = np.random.default_rng(seed)
        self.stop = num_points

    def __iter__(self):
        order = np.arange(self.num_points)
        if self.shuffle:
            self.rng.shuffle(order)
        for start in range(0, self.stop, self.batch_size):
            yield order[start:start + self.batch_size].tolist()

    def __len__(self):
        return -(-self.stop // self.batch_size)


class LSTMRegressor(nn.Module):
    def __init__(self, in_dim, hidden, layers=1):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.lstm = nn.LSTM(in_dim, hidden, num_layers=layers, batch_first=True)
        self.readout = nn.Linear(hidden, 1)
        self.state = None

    def init_state(self, batch_size):
        shape = (self.layers, batch_size, self.hidden)
        self.state = (torch.zeros(shape), torch.zeros(shape))

    def forward(self, x):
        out, _ = self.lstm(x, self.state)
        return self.readout(out[:, -1])


class Trainer:
    def __init__(self, model, batch_size, lr, max_epochs, sanity_batches=2):
        self.model = model
        self.max_epochs = max_epochs
        self.sanity_batches = sanity_batches
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.MSELoss()
        model.init_state(batch_size)

    @torch.no_grad()
    def validate(self, loader, limit=None):
        self.model.eval()
        losses = []
        for k, (x, y) in enumerate(loader):
            if k == limit:
                break
            losses.append(self.loss(self.model(x), y).item())
        return float(np.mean(losses))

    def fit(self, train_loader, val_loader):
        self.validate(val_loader, limit=self.sanity_batches)
        for epoch in range(self.max_epochs):
            self.model.train()
            for x, y in train_loader:
                self.optimizer.zero_grad()
                loss = self.loss(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch}: train {loss.item():.4f}  valid {self.validate(val_loader):.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)

    train_set = SensorWindows(664, window=24, seed=0)
    val_set = SensorWindows(43, window=24, seed=1)
    train_loader = DataLoader(
        train_set, batch_sampler=BasicBatchSampler(len(train_set), args.batch_size, shuffle=True))
    val_loader = DataLoader(
        val_set, batch_sampler=BasicBatchSampler(len(val_set), args.batch_size, shuffle=False))
    model = LSTMRegressor(in_dim=3, hidden=args.hidden)
    trainer = Trainer(model, args.batch_size, lr=3e-3, max_epochs=args.epochs)
    trainer.fit(train_loader, val_loader)


if __name__ == "__main__":
    main()
