import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


def concrete_data(n=600):
    """cement, slag, water, superplasticizer, age -> strength (made up formula)"""
    X = torch.rand(n, 5)
    y = 30 * X[:, 0] + 12 * X[:, 1] - 18 * X[:, 2] + 6 * X[:, 3] + 15 * torch.sqrt(X[:, 4])
    y = y + torch.randn(n)
    return X, y.unsqueeze(1)


class StrengthRegressor(nn.Module):
    def __init__(self, n_features, hidden=64, lr=1e-3):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )
        self.loss_fn = nn.MSELoss()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        self.history = []

    def forward(self, x):
        return self.layers(x)

    def train(self, train_loader, epochs=20):
        for epoch in range(epochs):
            total, count = 0.0, 0
            for xb, yb in train_loader:
                self.optimizer.zero_grad()
                loss = self.loss_fn(self(xb), yb)
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(xb)
                count += len(xb)
            self.history.append(total / count)
            if (epoch + 1) % 5 == 0:
                print(f"epoch {epoch + 1:3d}  mse {self.history[-1]:.3f}")

    def score(self, loader):
        err, n = 0.0, 0
        with torch.no_grad():
            for xb, yb in loader:
                err += (self(xb) - yb).abs().sum().item()
                n += len(xb)
        return err / n


X, y = concrete_data()
mean, std = X[:480].mean(0), X[:480].std(0)
X = (X - mean) / std
train_loader = DataLoader(TensorDataset(X[:480], y[:480]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(X[480:], y[480:]), batch_size=120)

model = StrengthRegressor(n_features=5, lr=5e-3)
print(model)
model.train(train_loader, epochs=20)

model.eval()
print(f"test MAE: {model.score(test_loader):.2f} MPa")

sample = torch.tensor([[0.6, 0.3, 0.4, 0.5, 0.25]])
with torch.no_grad():
    print("predicted strength of the new mix:", round(model((sample - mean) / std).item(), 1))
