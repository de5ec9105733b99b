import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(0)

# ---------------------------------------------------------------- data
# hourly water level in the harbour, metres above chart datum
hours = np.arange(24 * 90)
level = (
    2.1
    + 1.3 * np.cos(2 * np.pi * hours / 12.42)
    + 0.4 * np.cos(2 * np.pi * hours / 12.0)
    + 0.2 * np.cos(2 * np.pi * hours / 25.82)
    + 0.05 * rng.standard_normal(len(hours))
)
first = level[:24 * 70]
level = ((level - first.mean()) / first.std()).astype(np.float32)

WINDOW = 36


def make_windows(series, window):
    xs, ys = [], []
    for i in range(len(series) - window):
        xs.append(series[i:i + window])
        ys.append(series[i + window])
    return np.array(xs), np.array(ys)


X, y = make_windows(level, WINDOW)
X = torch.from_numpy(X).unsqueeze(-1)
y = torch.from_numpy(y)

split = 24 * 70 - WINDOW
train_loader = DataLoader(TensorDataset(X[:split], y[:split]), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(X[split:], y[split:]), batch_size=64)


# ---------------------------------------------------------------- model
class TideLSTM(nn.Module):
    def __init__(self, hidden_size=32):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden_size, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        out = out[:, -1]
        return self.fc(out).squeeze(-1)


model = TideLSTM()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

# ---------------------------------------------------------------- training
for epoch in range(6):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    print(f"epoch {epoch + 1}: train mse {total / split:.4f}")

# ---------------------------------------------------------------- evaluation
model.eval()
total = 0.0
with torch.no_grad():
    for xb, yb in test_loader:
        total += loss_fn(model(xb), yb).item() * len(xb)
print(f"test mse {total / (len(X) - split):.4f}")
