import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

WINDOW = 30
BATCH_SIZE = 64


def make_prices(n=700, seed=3):
    rng = np.random.default_rng(seed)
    returns = rng.normal(0.0005, 0.01, n)
    close = 100 * np.exp(np.cumsum(returns))
    volume = rng.lognormal(10, 0.4, n)
    return np.stack([close, volume], axis=1)


def create_windows(series, window):
    xs, ys = [], []
    for i in range(len(series) - window):
        xs.append(series[i : i + window])
        ys.append(series[i + window, 0])
    return np.array(xs, dtype=np.float32), np.array(ys, dtype=np.float32)


class StockLSTM(nn.Module):
    def __init__(self, n_features, hidden_size, num_layers, batch_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_size = batch_size
        self.lstm = nn.LSTM(n_features, hidden_size, num_layers, batch_first=True)
        self.linear = nn.Linear(hidden_size, 1)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        c0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        out, _ = self.lstm(x, (h0, c0))
        return self.linear(out[:, -1, :]).squeeze(1)


prices = make_prices()
scaled = (prices - prices.mean(0)) / prices.std(0)
x, y = create_windows(scaled, WINDOW)
split = int(0.8 * len(x))

train_loader = DataLoader(
    TensorDataset(torch.from_numpy(x[:split]), torch.from_numpy(y[:split])),
    batch_size=BATCH_SIZE,
    shuffle=True,
)

torch.manual_seed(0)
model = StockLSTM(n_features=2, hidden_size=32, num_layers=2, batch_size=BATCH_SIZE)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        pred = model(xb)
        loss = loss_fn(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print(f"Epoch {epoch + 1}: {epoch_loss / len(train_loader):.5f}")
