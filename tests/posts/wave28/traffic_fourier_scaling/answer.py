import argparse
import os
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.preprocessing import MinMaxScaler
from torch.utils.data import DataLoader, Dataset


class SensorDataset(Dataset):
    def __init__(self, path, flag, seq_len=24, pre_len=6, train_ratio=0.7, val_ratio=0.2):
        assert flag in ("train", "val", "test")
        self.flag = flag
        self.seq_len = seq_len
        self.pre_len = pre_len
        self.train_ratio = train_ratio
        self.val_ratio = val_ratio
        data = pd.read_csv(path).values.astype(np.float32)
        mms = MinMaxScaler(feature_range=(0, 1))
        mms.fit(data[:int(len(data) * train_ratio)])
        data = mms.transform(data)

        n_train = int(len(data) * train_ratio)
        n_val = int(len(data) * (train_ratio + val_ratio))
        if flag == "train":
            data = data[:n_train]
        elif flag == "val":
            data = data[n_train:n_val]
        else:
            data = data[n_val:]
        self.data = torch.from_numpy(np.ascontiguousarray(data, dtype=np.float32))

    def __len__(self):
        return len(self.data) - self.seq_len - self.pre_len + 1

    def __getitem__(self, i):
        end = i + self.seq_len
        return self.data[i:end], self.data[end:end + self.pre_len]


class FourierMixer(nn.Module):
    """Complex-valued mixing in the frequency domain of the flattened (node, time) graph."""

    def __init__(self, pre_len, seq_len, embed=16, hidden=64, sparsity=0.01):
        super().__init__()
        self.sparsity = sparsity
        self.embedding = nn.Parameter(torch.randn(1, embed))
        self.wr = nn.Parameter(0.02 * torch.randn(2, embed, embed))
        self.wi = nn.Parameter(0.02 * torch.randn(2, embed, embed))
        self.out = nn.Sequential(nn.Linear(seq_len * embed, hidden), nn.LeakyReLU(), nn.Linear(hidden, pre_len))

    def fgo(self, x):
        for r, i in zip(self.wr, self.wi):
            real = F.relu(x.real @ r - x.imag @ i)
            imag = F.relu(x.imag @ r + x.real @ i)
            x = torch.complex(F.softshrink(real, self.sparsity), F.softshrink(imag, self.sparsity)) + x
        return x

    def forward(self, x):
        b, length, n = x.shape
        x = x.permute(0, 2, 1).reshape(b, n * length, 1) * self.embedding
        spec = torch.fft.rfft(x, dim=1, norm="ortho")
        x = torch.fft.irfft(self.fgo(spec), n=n * length, dim=1, norm="ortho")
        x = x.reshape(b, n, -1)
        return self.out(x).permute(0, 2, 1)


def evaluate(model, loader):
    model.eval()
    err, sq, count = 0.0, 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            diff = model(x) - y
            err += diff.abs().sum().item()
            sq += (diff ** 2).sum().item()
            count += diff.numel()
    return err / count, (sq / count) ** 0.5


def write_csv(folder, steps=900, sensors=8):
    rng = np.random.default_rng(3)
    t = np.arange(steps)[:, None]
    level = 40 + 0.05 * t + 10 * np.sin(2 * np.pi * t / 48 + rng.uniform(0, 6, (1, sensors)))
    level = level * rng.uniform(0.8, 1.4, (1, sensors)) + rng.normal(0, 2, (steps, sensors))
    path = os.path.join(folder, "sensors.csv")
    pd.DataFrame(level, columns=[f"s{i}" for i in range(sensors)]).to_csv(path, index=False)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(folder)
        loaders = {f: DataLoader(SensorDataset(path, f), args.batch_size, shuffle=f == "train") for f in ("train", "val", "test")}

    model = FourierMixer(pre_len=6, seq_len=24)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        for x, y in loaders["train"]:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        mae, rmse = evaluate(model, loaders["val"])
        print(f"epoch {epoch}: train loss {loss.item():.5f}  val MAE {mae:.4f} RMSE {rmse:.4f}")
    mae, rmse = evaluate(model, loaders["test"])
    print(f"test MAE {mae:.4f} RMSE {rmse:.4f}")


if __name__ == "__main__":
    main()
