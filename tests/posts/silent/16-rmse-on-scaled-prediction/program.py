import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class StandardScaler:
    def fit(self, a):
        self.mean = a.mean(axis=0)
        self.std = a.std(axis=0) + 1e-8
        return self

    def transform(self, a):
        return (a - self.mean) / self.std

    def inverse_transform(self, a):
        return a * self.std + self.mean


rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.uniform(0, 50, size=(700, 5)).astype("float32")
y = (200 + 3 * X[:, :1] - 2 * X[:, 1:2] + rng.normal(0, 2, size=(700, 1))).astype("float32")
X_train, X_val, y_train, y_val = X[:560], X[560:], y[:560], y[560:]

x_scaler = StandardScaler().fit(X_train)
y_scaler = StandardScaler().fit(y_train)

train_ds = TensorDataset(
    torch.from_numpy(x_scaler.transform(X_train)),
    torch.from_numpy(y_scaler.transform(y_train)),
)
val_ds = TensorDataset(torch.from_numpy(x_scaler.transform(X_val)), torch.from_numpy(y_val))
train_loader = DataLoader(train_ds, batch_size=40, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=70)

model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for epoch in range(8):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

    model.eval()
    sq_err = 0.0
    with torch.no_grad():
        for xb, yb in val_loader:
            pred = model(xb)
            sq_err += ((pred - yb) ** 2).sum().item()
    rmse = (sq_err / len(val_ds)) ** 0.5
    print(f"epoch {epoch}: train mse {loss.item():.4f}  val rmse {rmse:.3f}")
