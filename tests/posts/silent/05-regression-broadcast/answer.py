import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class HousingDataset(Dataset):
    def __init__(self, n_rows=500):
        self.features = torch.randn(n_rows, 8)
        coef = torch.linspace(-2, 2, 8)
        self.prices = self.features @ coef + 0.1 * torch.randn(n_rows)

    def __len__(self):
        return self.features.shape[0]

    def __getitem__(self, idx):
        return self.features[idx], self.prices[idx]


class PriceRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def mse_loss(pred, target):
    return ((pred - target) ** 2).mean()


torch.manual_seed(7)
dataset = HousingDataset()
loader = DataLoader(dataset, batch_size=50, shuffle=True)
model = PriceRegressor()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(20):
    epoch_loss = 0.0
    for features, price in loader:
        optimizer.zero_grad()
        pred = model(features).squeeze(-1)
        loss = mse_loss(pred, price)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:3d} rmse {math.sqrt(epoch_loss / len(loader)):.4f}")
