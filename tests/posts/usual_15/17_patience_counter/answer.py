# Course project: bike rental demand, MLP with early stopping
import copy
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(1)
torch.manual_seed(1)

n = 900
hour = rng.integers(0, 24, n)
temp = rng.normal(15, 8, n)
rain = rng.random(n) < 0.2
weekend = rng.random(n) < 2 / 7
demand = (120 * np.exp(-((hour - 8) / 2.0) ** 2) * ~weekend + 150 * np.exp(-((hour - 17.5) / 2.5) ** 2)
          + 4 * temp) * np.where(rain, 0.5, 1.0) + rng.normal(0, 25, n)
X = np.stack([np.sin(hour * np.pi / 12), np.cos(hour * np.pi / 12), temp, rain, weekend], axis=1)

n_train, n_val = 550, 150
scaler_x, scaler_y = StandardScaler(), StandardScaler()
X_train = scaler_x.fit_transform(X[:n_train])
y_train = scaler_y.fit_transform(demand[:n_train, None])
X_val, y_val = scaler_x.transform(X[n_train:n_train + n_val]), scaler_y.transform(demand[n_train:n_train + n_val, None])
X_test, y_test = scaler_x.transform(X[n_train + n_val:]), demand[n_train + n_val:, None]


def to_t(a):
    return torch.tensor(a, dtype=torch.float32)


train_loader = DataLoader(TensorDataset(to_t(X_train), to_t(y_train)), batch_size=32, shuffle=True)
val_x, val_y = to_t(X_val), to_t(y_val)


class DemandNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, 64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.layers(x)


model = DemandNet()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

max_epochs = 300
patience = 10
best_val = float("inf")
best_weights = copy.deepcopy(model.state_dict())
wait = 0

for epoch in range(1, max_epochs + 1):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        val_loss = criterion(model(val_x), val_y).item()

    if val_loss < best_val:
        best_val = val_loss
        best_weights = copy.deepcopy(model.state_dict())
        wait = 0
    else:
        wait += 1
        if wait >= patience:
            print(f"no improvement for {patience} epochs, stop at epoch {epoch}")
            break

    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  val loss {val_loss:.4f}  best {best_val:.4f}")

model.load_state_dict(best_weights)
model.eval()
with torch.no_grad():
    pred = scaler_y.inverse_transform(model(to_t(X_test)).numpy())
print(f"best val loss {best_val:.4f}")
print(f"test MAE {np.abs(pred - y_test).mean():.1f} bikes")
