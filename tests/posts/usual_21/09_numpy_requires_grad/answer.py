import numpy as np
import torch
import torch.nn as nn


def make_windows(series, width):
    xs, ys = [], []
    for i in range(len(series) - width):
        xs.append(series[i:i + width])
        ys.append(series[i + width])
    return np.stack(xs), np.array(ys)


class Forecaster(nn.Module):
    def __init__(self, width, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(width, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def fit(model, x, y, epochs=100):
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    loss_fn = nn.MSELoss()
    model.train()
    for epoch in range(epochs):
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        if epoch % 25 == 0:
            print(f"epoch {epoch:3d} mse {loss.item():.5f}")


def forecast(model, x):
    model.eval()
    with torch.no_grad():
        preds = model(x)
    return preds.numpy()


if __name__ == "__main__":
    torch.manual_seed(0)
    t = np.arange(600)
    series = np.sin(t / 12.0) + 0.05 * np.random.default_rng(0).normal(size=600)
    series = series.astype(np.float32)
    width = 24
    x, y = make_windows(series, width)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    x_train, y_train, x_test, y_test = x[:450], y[:450], x[450:], y[450:]

    model = Forecaster(width)
    fit(model, x_train, y_train)
    predictions = forecast(model, x_test)
    rmse = np.sqrt(np.mean((predictions - y_test.numpy()) ** 2))
    print(f"test rmse {rmse:.4f}")
