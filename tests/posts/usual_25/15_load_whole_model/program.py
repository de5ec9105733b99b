import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from sklearn.datasets import make_regression
from sklearn.model_selection import train_test_split

X, y = make_regression(n_samples=500, n_features=12, noise=5.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(
    X.astype(np.float32), y.astype(np.float32), test_size=0.2, random_state=0)
y_mean, y_std = y_train.mean(), y_train.std()

X_train, X_test = torch.tensor(X_train), torch.tensor(X_test)
y_train = torch.tensor((y_train - y_mean) / y_std).unsqueeze(1)
y_test = torch.tensor((y_test - y_mean) / y_std).unsqueeze(1)


class PriceModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def fit(model, epochs, path):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.MSELoss()
    best = float("inf")
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(X_train), y_train)
        loss.backward()
        optimizer.step()

        model.eval()
        with torch.no_grad():
            val = criterion(model(X_test), y_test).item()
        if val < best:
            best = val
            torch.save(model, path)
    return best


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    model_path = Path(folder) / "price_model.pth"
    best = fit(PriceModel(X_train.shape[1]), 60, model_path)
    print("best val loss", round(best, 4))

    model = torch.load(model_path)

model.eval()
with torch.no_grad():
    pred = model(X_test[:5]).squeeze(1).numpy() * y_std + y_mean
print("first predictions:", pred.round(1))
