import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

np.random.seed(0)
torch.manual_seed(0)


class FCNNetwork(nn.Module):
    def __init__(self, n_channels, filters=(16, 32, 16), kernels=(7, 5, 3)):
        super().__init__()
        layers = []
        for f, k in zip(filters, kernels):
            layers += [nn.Conv1d(n_channels, f, k, padding=k // 2), nn.BatchNorm1d(f), nn.ReLU()]
            n_channels = f
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(n_channels, 1)

    def forward(self, X):
        return self.out(self.body(X).mean(dim=-1))


class SeriesDataset(Dataset):
    def __init__(self, X, y=None):
        self.X = torch.as_tensor(X, dtype=torch.float32)
        self.y = None if y is None else torch.as_tensor(y, dtype=torch.float32)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        if self.y is None:
            return self.X[i]
        return self.X[i], self.y[i]


class FCNRegressor:
    def __init__(self, num_epochs=30, batch_size=16, lr=0.005, random_state=None):
        self.num_epochs, self.batch_size, self.lr = num_epochs, batch_size, lr
        if random_state is not None:
            torch.manual_seed(random_state)

    def fit(self, X, y):
        self.network = FCNNetwork(X.shape[1])
        self._loss_fn = nn.MSELoss()
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=self.lr)
        loader = DataLoader(SeriesDataset(X, y), batch_size=self.batch_size, shuffle=True)
        for epoch in range(self.num_epochs):
            loss = self._run_epoch(loader)
            if (epoch + 1) % 10 == 0:
                print(f"Epoch {epoch + 1}: loss {loss:.4f}")
        return self

    def _run_epoch(self, loader):
        self.network.train()
        losses = []
        for series, target in loader:
            y_pred = self.network(series)
            loss = self._loss_fn(y_pred.squeeze(-1), target)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    def predict(self, X):
        self.network.eval()
        loader = DataLoader(SeriesDataset(X), batch_size=self.batch_size)
        with torch.no_grad():
            preds = [self.network(inputs) for inputs in loader]
        return torch.cat(preds).squeeze(-1).numpy()


def make_series(n, length=40):
    level = np.random.uniform(-2, 2, n)
    t = np.linspace(0, 4 * np.pi, length)
    X = np.stack([level[:, None] * np.sin(t) ** 2, np.tile(np.cos(t), (n, 1))], axis=1)
    return X + 0.1 * np.random.randn(*X.shape), 3.0 * level


if __name__ == "__main__":
    X_train, y_train = make_series(160)
    X_test, y_test = make_series(64)
    model = FCNRegressor(random_state=0).fit(X_train, y_train)
    y_hat = model.predict(X_test)
    print("test MSE %.3f" % np.mean((y_hat - y_test) ** 2), "variance of y %.3f" % y_test.var())
