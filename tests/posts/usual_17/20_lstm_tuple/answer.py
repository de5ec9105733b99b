import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


def simulate_prices(n=600):
    ret = np.random.normal(0.0003, 0.01, n) + 0.01 * np.sin(np.arange(n) / 15)
    close = 100 * np.exp(np.cumsum(ret))
    volume = np.random.lognormal(3, 0.3, n)
    return np.stack([close, volume], axis=1)


def sliding_windows(data, lookback):
    X, y = [], []
    for i in range(len(data) - lookback):
        X.append(data[i:i + lookback])
        y.append(data[i + lookback, 0])
    return np.array(X, dtype=np.float32), np.array(y, dtype=np.float32)


class StockLSTM(nn.Module):
    def __init__(self, input_size=2, hidden=32, dropout=0.2):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden, batch_first=True)
        self.model = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        out, _ = self.lstm(x)
        out = self.model(out)
        return out[:, -1, 0]


prices = simulate_prices()
mean, std = prices[:450].mean(0), prices[:450].std(0)
prices = (prices - mean) / std

lookback = 20
X, y = sliding_windows(prices, lookback)
n_train = 430
train_ds = TensorDataset(torch.from_numpy(X[:n_train]), torch.from_numpy(y[:n_train]))
test_ds = TensorDataset(torch.from_numpy(X[n_train:]), torch.from_numpy(y[n_train:]))
train_loader = DataLoader(train_ds, batch_size=32, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=32)

model = StockLSTM()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    train_loss = 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        pred = model(xb)
        loss = criterion(pred, yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        train_loss += loss.item() * len(xb)

    model.eval()
    se = 0.0
    with torch.no_grad():
        for xb, yb in test_loader:
            se += ((model(xb) - yb) ** 2).sum().item()
    rmse = np.sqrt(se / len(test_ds)) * std[0]
    print(f'Epoch {epoch}: train {train_loss / n_train:.4f}, test RMSE {rmse:.2f}')
