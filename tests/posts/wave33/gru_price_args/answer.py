import argparse

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import MinMaxScaler
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description="day-ahead electricity price, GRU")
parser.add_argument("--window", type=int, default=48)
parser.add_argument("--horizon", type=int, default=24)
parser.add_argument("--num_hidden_size", type=int, default=32)
parser.add_argument("--num_layers", type=int, default=2)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--lr", type=float, default=1e-3)


def load_prices(n_days=60):
    rng = np.random.default_rng(0)
    hours = pd.date_range("2021-01-01", periods=24 * n_days, freq="h")
    h = hours.hour.to_numpy()
    price = 250 + 60 * np.sin((h - 7) / 24 * 2 * np.pi) + rng.normal(0, 12, len(hours))
    load = 17000 + 3000 * np.sin((h - 6) / 24 * 2 * np.pi) + rng.normal(0, 300, len(hours))
    wind = np.abs(rng.normal(1800, 700, len(hours)))
    return pd.DataFrame({"price": price, "load": load, "wind": wind}, index=hours)


def windows(values, window, horizon):
    xs, ys = [], []
    for i in range(len(values) - window - horizon + 1):
        xs.append(values[i : i + window])
        ys.append(values[i + window : i + window + horizon, 0])
    return torch.tensor(np.array(xs), dtype=torch.float32), torch.tensor(np.array(ys), dtype=torch.float32)


class GRUForecaster(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, horizon, dropout):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.gru = nn.GRU(input_size, hidden_size, num_layers, batch_first=True, dropout=dropout)
        self.fc = nn.Linear(hidden_size, horizon)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        out, _ = self.gru(x, h0)
        return self.fc(out[:, -1])


def main():
    args = parser.parse_args()
    torch.manual_seed(0)

    frame = load_prices()
    scaler = MinMaxScaler()
    split = int(0.8 * len(frame))
    scaler.fit(frame.iloc[:split])
    train_x, train_y = windows(scaler.transform(frame.iloc[:split]), args.window, args.horizon)
    test_x, test_y = windows(scaler.transform(frame.iloc[split:]), args.window, args.horizon)
    print("train", tuple(train_x.shape), "test", tuple(test_x.shape))

    model = GRUForecaster(
        input_size=frame.shape[1],
        hidden_size=args.num_hidden_size,
        num_layers=args.num_layers,
        horizon=args.horizon,
        dropout=args.dropout,
    )
    criterion = nn.L1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=args.batch_size, shuffle=True)

    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val = criterion(model(test_x), test_y).item()
        print(f"epoch {epoch + 1}: train MAE {np.mean(losses):.4f} test MAE {val:.4f}")


if __name__ == "__main__":
    main()
