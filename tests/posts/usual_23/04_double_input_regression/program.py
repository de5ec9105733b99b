import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class HousingDataset(Dataset):
    def __init__(self, X, y):
        self.X = X
        self.y = y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, idx):
        return torch.from_numpy(self.X[idx]), torch.from_numpy(self.y[idx])


class Regressor(nn.Module):
    def __init__(self, in_features, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x)


def make_data(n=500, d=13, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=(d, 1))
    y = X @ w + 0.1 * rng.normal(size=(n, 1))
    return X, y


X, y = make_data()
mean, std = X[:400].mean(axis=0), X[:400].std(axis=0)
X = (X - mean) / std

train_ds = HousingDataset(X[:400], y[:400])
val_ds = HousingDataset(X[400:], y[400:])
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=100)

torch.manual_seed(0)
model = Regressor(X.shape[1])
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    model.train()
    for xb, yb in train_dl:
        pred = model(xb)
        loss = loss_fn(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()

    model.eval()
    with torch.no_grad():
        val_loss = sum(loss_fn(model(xb), yb).item() * len(xb) for xb, yb in val_dl) / len(val_ds)
    print(f"epoch {epoch}  val mse {val_loss:.4f}")
