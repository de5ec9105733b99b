import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import MinMaxScaler
from torch.utils.data import DataLoader, TensorDataset

LOOKBACK = 30
COLUMNS = ["temp", "pressure", "humidity", "wind"]


def load_station():
    rng = np.random.default_rng(8)
    days = pd.date_range("2018-01-01", periods=700, freq="D")
    season = np.sin(2 * np.pi * days.day_of_year.to_numpy() / 365.25)
    return pd.DataFrame({
        "temp": 12 + 10 * season + rng.normal(0, 1.5, len(days)),
        "pressure": 1013 + rng.normal(0, 6, len(days)),
        "humidity": 65 - 12 * season + rng.normal(0, 5, len(days)),
        "wind": rng.gamma(2.0, 2.0, len(days)),
    }, index=days)


def windows(values):
    X = np.stack([values[i:i + LOOKBACK] for i in range(len(values) - LOOKBACK)])
    y = values[LOOKBACK:, 0]
    return X, y


class TempLSTM(nn.Module):
    def __init__(self, n_features, hidden=32, layers=2):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, layers, batch_first=True, dropout=0.1)
        self.regressor = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.regressor(out[:, -1]).squeeze(-1)


def fit_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(xb)
    return total / len(loader.dataset)


def score(model, loader):
    model.eval()
    preds, truth = [], []
    with torch.no_grad():
        for xb, yb in loader:
            preds.append(model(xb))
            truth.append(yb)
    preds, truth = torch.cat(preds), torch.cat(truth)
    return torch.sqrt(((preds - truth) ** 2).mean()).item()


def main():
    torch.manual_seed(8)
    df = load_station()
    train_df, val_df = df.iloc[:520], df.iloc[520:]
    scaler = MinMaxScaler().fit(train_df[COLUMNS].to_numpy())
    X_train, y_train = windows(scaler.transform(train_df[COLUMNS].to_numpy()))
    X_val, y_val = windows(scaler.transform(val_df[COLUMNS].to_numpy()))

    train_set = TensorDataset(torch.Tensor(X_train), torch.Tensor(y_train))
    val_set = TensorDataset(torch.from_numpy(X_val), torch.from_numpy(y_val))
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)

    model = TempLSTM(len(COLUMNS))
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    span = scaler.data_range_[0]
    for epoch in range(1, 9):
        loss = fit_epoch(model, train_loader, criterion, optimizer)
        rmse = score(model, val_loader)
        print(f"epoch {epoch}: mse {loss:.4f}, validation RMSE {rmse * span:.2f} C")


if __name__ == "__main__":
    main()
