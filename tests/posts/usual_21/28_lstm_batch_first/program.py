import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def load_series(n=1500):
    rng = np.random.default_rng(0)
    t = np.arange(n)
    demand = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168)
    temperature = np.cos(2 * np.pi * t / 24 + 0.7)
    series = np.stack([demand, temperature], axis=1) + 0.05 * rng.normal(size=(n, 2))
    return series.astype(np.float32)


def windows(series, length):
    x = np.stack([series[i:i + length] for i in range(len(series) - length)])
    y = series[length:, :1]
    return torch.from_numpy(x), torch.from_numpy(y)


class DemandLSTM(nn.Module):
    def __init__(self, n_features=2, hidden_size=32, num_layers=1):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(n_features, hidden_size, num_layers)
        self.linear = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[:, -1, :])


def main():
    torch.manual_seed(0)
    x, y = windows(load_series(), 36)
    split = 1200
    train_loader = DataLoader(TensorDataset(x[:split], y[:split]), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[split:], y[split:]), batch_size=64)

    model = DemandLSTM()
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(6):
        model.train()
        train_loss = 0.0
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * len(xb)
        model.eval()
        test_loss = 0.0
        with torch.no_grad():
            for xb, yb in test_loader:
                test_loss += loss_fn(model(xb), yb).item() * len(xb)
        print(f"epoch {epoch}: train {train_loss / split:.4f} test {test_loss / (len(x) - split):.4f}")


if __name__ == "__main__":
    main()
