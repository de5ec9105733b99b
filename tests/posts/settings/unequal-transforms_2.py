# line 30: predict() gives raw table rows to a net that was trained on standardized ones
import numpy as np
import torch
from torch import nn


class Scaler:
    def fit(self, x):
        self.mu, self.sd = x.mean(axis=0), x.std(axis=0)
        return self

    def __call__(self, x):
        return (x - self.mu) / self.sd


def houses(n, rng):
    area, rooms, age = rng.uniform(40, 250, n), rng.integers(1, 8, n), rng.uniform(0, 90, n)
    price = 2.0 * area + 15 * rooms - 0.8 * age + rng.normal(0, 10, n)
    return np.stack([area, rooms, age], axis=1), price


class PriceModel:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def train_transform(self, x):
        return torch.as_tensor(self.scale(x), dtype=torch.float32)

    def test_transform(self, x):
        return torch.as_tensor(x, dtype=torch.float32)

    def fit(self, x, price, epochs=40):
        self.scale = Scaler().fit(x)
        self.unit = price.mean()
        xs = self.train_transform(x)
        ys = torch.as_tensor(price / self.unit, dtype=torch.float32)
        opt = torch.optim.Adam(self.net.parameters(), lr=0.01)
        self.net.train()
        for _ in range(epochs):
            for i in torch.randperm(len(xs)).split(50):
                loss = nn.functional.mse_loss(self.net(xs[i]).squeeze(1), ys[i])
                opt.zero_grad()
                loss.backward()
                opt.step()

    @torch.no_grad()
    def predict(self, x):
        self.net.eval()
        return self.net(self.test_transform(x)).squeeze(1).numpy() * self.unit


torch.manual_seed(0)
rng = np.random.default_rng(0)
model = PriceModel()
model.fit(*houses(400, rng))
x, price = houses(100, rng)
print("mean error", np.abs(model.predict(x) - price).mean())
