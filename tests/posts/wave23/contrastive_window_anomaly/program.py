import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class WindowDataset(Dataset):
    """Sliding windows of a multivariate series with two augmented versions each."""

    def __init__(self, series, window=40, stride=5, seed=0):
        self.series = series.astype(np.float32)
        self.window = window
        self.starts = np.arange(0, len(series) - window + 1, stride)
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.starts)

    def weak(self, w):
        return w + self.rng.normal(0, 0.02, size=w.shape).astype(np.float32)

    def anomalous(self, w):
        out = w.copy()
        column = self.rng.integers(0, w.shape[1])
        start = self.rng.integers(0, self.window - 10)
        out[start:start + 10, column] += 3.0
        return out

    def __getitem__(self, idx):
        start = self.starts[idx]
        w = self.series[start:start + self.window]
        return {"ts_org": w, "ts_weak": self.weak(w), "ts_anomaly": self.anomalous(w)}


class ConvEncoder(nn.Module):
    def __init__(self, in_channels, hidden=32, out_dim=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(in_channels, hidden, 7, padding=3), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Conv1d(hidden, hidden, 5, padding=2), nn.BatchNorm1d(hidden), nn.ReLU(),
        )
        self.head = nn.Linear(hidden, out_dim)

    def forward(self, x):
        return F.normalize(self.head(self.net(x).mean(dim=2)), dim=1)


def make_series(length=1200, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(length)[:, None]
    periods = rng.uniform(15, 60, size=(1, n_features))
    return np.sin(2 * np.pi * t / periods) + rng.normal(0, 0.05, size=(length, n_features))


def train_epoch(model, loader, optimizer, margin, device):
    model.train()
    total = 0.0
    for batch in loader:
        ts_org = batch["ts_org"].to(device)
        ts_weak = batch["ts_weak"].to(device)
        ts_anomaly = batch["ts_anomaly"].to(device)
        b, w, h = ts_org.shape
        inputs = torch.cat([ts_org, ts_weak, ts_anomaly], dim=0).view(b * 3, h, w)
        anchor, positive, negative = model(inputs).chunk(3, dim=0)
        loss = F.triplet_margin_loss(anchor, positive, negative, margin=margin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * b
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    series = make_series()
    dataset = WindowDataset(series)
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    model = ConvEncoder(in_channels=series.shape[1]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(5):
        loss = train_epoch(model, loader, optimizer, 1.0, device)
        print(f"epoch {epoch + 1}: loss {loss:.4f}")


if __name__ == "__main__":
    main()
