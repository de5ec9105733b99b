# line 38: the model is in evaluation, so the repeated passes of Monte Carlo dropout are all the same and their variance is zero
import numpy as np
import torch
from torch import nn


class DosePredictor(nn.Module):
    def __init__(self, p=0.2):
        super().__init__()
        self.f = nn.Sequential(
            nn.Linear(4, 32), nn.ReLU(), nn.Dropout(p), nn.Linear(32, 32), nn.ReLU(), nn.Dropout(p)
        )
        self.g = nn.Linear(32, 1)

    def forward(self, x):
        return self.g(self.f(x)).squeeze(-1)


class Experiment:
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.net = DosePredictor()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def fit(self, x, y, epochs=20):
        self.net.train()
        for _ in range(epochs):
            for idx in torch.randperm(len(x)).split(50):
                self.opt.zero_grad()
                nn.functional.mse_loss(self.net(x[idx]), y[idx]).backward()
                self.opt.step()
        self.net.eval()

    def predict(self, x, passes=30):
        results = np.empty((passes, len(x)))
        with torch.no_grad():
            for k in range(passes):
                results[k] = self.net(x).numpy()
        return results.mean(axis=0), results.var(axis=0)


x = torch.randn(200, 4)
y = x[:, 0] * 2 - x[:, 1] + 0.1 * torch.randn(200)
run = Experiment()
run.fit(x[:150], y[:150])
mean, var = run.predict(x[150:])
print("mean dose", mean[:3].round(3), "uncertainty", var[:3])
