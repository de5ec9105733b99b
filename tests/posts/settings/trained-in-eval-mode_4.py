# line 25: the callback of the fit loop applies eval() to all modules, and the next epoch goes on in that mode
import torch
from torch import nn


class EarlyStopping:
    def __init__(self, x, y, patience=4):
        self.x, self.y, self.patience = x, y, patience
        self.best, self.bad = float("inf"), 0

    def on_epoch_end(self, estimator):
        score = estimator.score(self.x, self.y)
        self.bad = 0 if score < self.best else self.bad + 1
        self.best = min(self.best, score)
        return self.bad >= self.patience


class TorchRegressor:
    def __init__(self, columns, epochs=6, batch_size=25):
        self.net = nn.Sequential(nn.Linear(columns, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 1), nn.Flatten(0))
        self.epochs, self.batch_size = epochs, batch_size
        self.loss = nn.HuberLoss()

    def score(self, x, y):
        self.net.apply(lambda module: module.eval())
        with torch.no_grad():
            return self.loss(self.net(x), y).item()

    def fit(self, x, y, callback):
        opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        for epoch in range(self.epochs):
            for rows in torch.randperm(len(x)).split(self.batch_size):
                opt.zero_grad()
                self.loss(self.net(x[rows]), y[rows]).backward()
                opt.step()
            if callback.on_epoch_end(self):
                break
            print(f"epoch {epoch}: best validation loss {callback.best:.4f}")
        return self


torch.manual_seed(23)
x = torch.randn(500, 6)
y = x[:, 0] * 2 + torch.sin(3 * x[:, 1]) + 0.1 * torch.randn(500)
TorchRegressor(6).fit(x[:400], y[:400], EarlyStopping(x[400:], y[400:]))
