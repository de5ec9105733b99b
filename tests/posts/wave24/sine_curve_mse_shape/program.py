import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n, noise, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(n, 2)).astype(np.float32)
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + noise * rng.standard_normal(n)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))


class CurveNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x)


def evaluate(net, X, Y):
    net.eval()
    with torch.no_grad():
        pred = net(X).numpy().ravel()
    truth = Y.numpy().ravel()
    residual = ((truth - pred) ** 2).sum()
    return 1 - residual / ((truth - truth.mean()) ** 2).sum()


def main():
    torch.manual_seed(0)
    X, Y = make_data(512, noise=0.1, seed=0)
    X_test, Y_test = make_data(256, noise=0.1, seed=1)
    loader = DataLoader(TensorDataset(X, Y), batch_size=64, shuffle=True)

    net = CurveNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

    for epoch in range(30):
        net.train()
        running = 0.0
        for xb, yb in loader:
            pred = net(xb)
            loss = criterion(pred, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(xb)
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1}: mse {running / len(X):.4f}  test R2 {evaluate(net, X_test, Y_test):.3f}")


if __name__ == "__main__":
    main()
