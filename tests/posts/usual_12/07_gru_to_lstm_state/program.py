import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

LOOKBACK, HORIZON = 24, 6


def load_pm25(path="pm25.csv"):
    rng = np.random.default_rng(3)
    hours = pd.date_range("2023-01-01", periods=900, freq="h")
    pm = 40 + 15 * np.sin(2 * np.pi * hours.hour / 24) + np.cumsum(rng.normal(0, 0.6, 900))
    temp = 12 + 6 * np.cos(2 * np.pi * hours.hour / 24) + rng.normal(0, 1, 900)
    wind = rng.gamma(2, 1.5, 900)
    pd.DataFrame({"time": hours, "pm25": pm, "temp": temp, "wind": wind}).to_csv(path, index=False)
    return pd.read_csv(path, parse_dates=["time"]).set_index("time")


def make_windows(values):
    xs, ys = [], []
    for i in range(len(values) - LOOKBACK - HORIZON + 1):
        xs.append(values[i:i + LOOKBACK])
        ys.append(values[i + LOOKBACK:i + LOOKBACK + HORIZON, 0])
    return (torch.tensor(np.stack(xs), dtype=torch.float32),
            torch.tensor(np.stack(ys), dtype=torch.float32))


class Forecaster(nn.Module):
    # GRU replaced by LSTM (2 layers) as in the paper
    def __init__(self, n_features, hidden_size=48, num_layers=2, horizon=HORIZON):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.rnn = nn.LSTM(n_features, hidden_size, num_layers, batch_first=True, dropout=0.1)
        self.proj = nn.Linear(hidden_size, horizon)

    def init_hidden(self, batch_size, device):
        return torch.zeros(self.num_layers, batch_size, self.hidden_size, device=device)

    def forward(self, x):
        state = self.init_hidden(x.size(0), x.device)
        out, state = self.rnn(x, state)
        return self.proj(out[:, -1])


def main():
    torch.manual_seed(0)
    df = load_pm25()
    n_train = int(len(df) * 0.8)
    mu, sd = df.iloc[:n_train].mean(), df.iloc[:n_train].std()
    scaled = ((df - mu) / sd).to_numpy()

    train_x, train_y = make_windows(scaled[:n_train])
    test_x, test_y = make_windows(scaled[n_train:])
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)

    model = Forecaster(df.shape[1])
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_fn = nn.MSELoss()

    for epoch in range(4):
        model.train()
        total = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item() * len(xb)

        model.eval()
        with torch.no_grad():
            err = (model(test_x) - test_y).abs().mean().item() * sd["pm25"]
        print(f"epoch {epoch + 1}  mse {total / len(train_x):.4f}  test MAE {err:.2f} ug/m3")


if __name__ == "__main__":
    main()
