import copy

import torch
import torch.nn as nn
from sklearn.datasets import make_regression
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = make_regression(n_samples=500, n_features=8, noise=5.0, random_state=0)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y / y.std(), dtype=torch.float32).unsqueeze(1)
train_loader = DataLoader(TensorDataset(X[:400], y[:400]), batch_size=40, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 1)
        self.last_features = None

    def forward(self, x):
        self.last_features = self.body(x)
        return self.head(self.last_features)


model = Net()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
best_loss, best_model = float("inf"), None

for epoch in range(8):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb) + 1e-4 * model.last_features.pow(2).mean()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / len(train_loader)
    if epoch_loss < best_loss:
        best_loss = epoch_loss
        best_model = copy.deepcopy(model)
    print(f"epoch {epoch} train {epoch_loss:.4f}")

best_model.eval()
with torch.no_grad():
    print("test mse", criterion(best_model(X[400:]), y[400:]).item())
