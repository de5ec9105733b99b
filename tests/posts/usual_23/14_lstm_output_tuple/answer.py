import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_windows(series, window):
    X, y = [], []
    for i in range(len(series) - window):
        X.append(series[i : i + window])
        y.append(series[i + window])
    X = torch.tensor(np.array(X), dtype=torch.float32).unsqueeze(-1)
    y = torch.tensor(np.array(y), dtype=torch.float32).unsqueeze(-1)
    return X, y


class Forecaster(nn.Module):
    def __init__(self, n_features=1, hidden_size=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_features, 16),
            nn.Tanh(),
        )
        self.lstm = nn.LSTM(16, hidden_size, num_layers=1, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        x = self.encoder(x)
        out, _ = self.lstm(x)
        out = self.fc(out)
        return out[:, -1]


np.random.seed(0)
torch.manual_seed(0)
t = np.arange(800)
series = np.sin(2 * np.pi * t / 24) + 0.1 * np.random.randn(len(t))

n_train = 640
mean, std = series[:n_train].mean(), series[:n_train].std()
series = (series - mean) / std

window = 24
X_train, y_train = make_windows(series[:n_train], window)
X_test, y_test = make_windows(series[n_train:], window)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=64, shuffle=True)

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()

for epoch in range(5):
    model.train()
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * xb.size(0)
    print(f"Epoch {epoch + 1}/5, MSE: {epoch_loss / len(X_train):.4f}")

model.eval()
with torch.no_grad():
    pred = model(X_test) * std + mean
    true = y_test * std + mean
print("test RMSE:", torch.sqrt(((pred - true) ** 2).mean()).item())
