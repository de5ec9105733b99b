# %% [markdown]
# Hourly load forecasting, one step ahead

# %%
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(42)
np.random.seed(42)

# %%
hours = np.arange(24 * 60)
load = (
    50
    + 12 * np.sin(2 * np.pi * hours / 24)
    + 5 * np.sin(2 * np.pi * hours / (24 * 7))
    + np.random.normal(0, 1.0, len(hours))
)
n_train = 24 * 48
mu, sigma = load[:n_train].mean(), load[:n_train].std()
scaled = ((load - mu) / sigma).astype("float32")

# %%
LOOKBACK = 24


def sliding_windows(series, lookback):
    X, y = [], []
    for i in range(len(series) - lookback):
        X.append(series[i:i + lookback])
        y.append(series[i + lookback])
    return np.array(X), np.array(y)


X_tr, y_tr = sliding_windows(scaled[:n_train], LOOKBACK)
X_te, y_te = sliding_windows(scaled[n_train - LOOKBACK:], LOOKBACK)
print(X_tr.shape, y_tr.shape, X_te.shape)

X_tr = torch.from_numpy(X_tr).unsqueeze(-1)   # (samples, time, 1)
X_te = torch.from_numpy(X_te).unsqueeze(-1)
y_tr = torch.from_numpy(y_tr)

loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=32, shuffle=True)


# %%
class LoadGRU(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(input_size=1, hidden_size=hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.head(out[:, -1])


net = LoadGRU()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

# %%
history = []
for epoch in range(6):
    net.train()
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        pred = net(xb)
        loss = criterion(pred, yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * xb.size(0)
    history.append(epoch_loss / len(loader.dataset))
    print("epoch %d  loss %.4f" % (epoch + 1, history[-1]))

# %%
net.eval()
with torch.no_grad():
    forecast = net(X_te).squeeze(-1).numpy() * sigma + mu
actual = y_te * sigma + mu
print("test MAE  %.2f MW" % np.abs(forecast - actual).mean())
print("forecast spread %.2f, actual spread %.2f" % (forecast.std(), actual.std()))
