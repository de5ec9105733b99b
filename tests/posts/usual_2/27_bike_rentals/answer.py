import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def bike_rentals(n=500, seed=0):
    rng = np.random.default_rng(seed)
    hour = rng.integers(0, 24, n)
    temp = rng.normal(15, 8, n)
    wind = rng.gamma(2, 3, n)
    holiday = rng.integers(0, 2, n)
    rentals = 3 + np.sin(hour / 24 * 2 * np.pi) + 0.08 * temp - 0.05 * wind + 0.5 * holiday
    rentals += rng.normal(0, 0.1, n)
    x = np.stack(
        [np.sin(hour / 24 * 6.283), np.cos(hour / 24 * 6.283), temp / 10, wind / 5, holiday], 1
    )
    return torch.tensor(x, dtype=torch.float32), torch.tensor(rentals, dtype=torch.float32)


class RentalNet(nn.Module):
    def __init__(self, n_in=5, hidden=128):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.4, training=self.training)
        x = F.relu(self.fc2(x))
        x = F.dropout(x, p=0.4, training=self.training)
        return self.fc3(x).squeeze(1)


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def rmse(model, loader):
    model.eval()
    se = 0.0
    for x, y in loader:
        se += F.mse_loss(model(x), y, reduction="sum").item()
    return (se / len(loader.dataset)) ** 0.5


torch.manual_seed(0)
x, y = bike_rentals()
train_loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
test_loader = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=100)

model = RentalNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(40):
    train_loss = train_epoch(model, train_loader, optimizer)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: train mse {train_loss:.4f} test rmse {rmse(model, test_loader):.4f}")

print("final test rmse:", round(rmse(model, test_loader), 4))
