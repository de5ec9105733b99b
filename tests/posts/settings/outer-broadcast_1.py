# line 30: the predictions have a column dim and the targets have none, so the Huber residuals are those of all pairs
import numpy as np
import torch
import torch.nn as nn

rng = np.random.RandomState(12)
torch.manual_seed(12)


def huber(residual, delta=1.0):
    size = torch.abs(residual)
    small = torch.clamp(size, max=delta)
    return torch.mean(0.5 * small * small + delta * (size - small))


class Regressor:
    def __init__(self, n_in, lr=0.02, epochs=8, batch=30):
        self.model = nn.Sequential(nn.Linear(n_in, 24), nn.SiLU(), nn.Linear(24, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.epochs, self.batch = epochs, batch

    def fit(self, X, y):
        X = torch.tensor(X, dtype=torch.float32)
        y = torch.tensor(y, dtype=torch.float32)
        self.model.train()
        for epoch in range(self.epochs):
            for rows in torch.randperm(len(X)).split(self.batch):
                self.opt.zero_grad()
                guess = self.model(X[rows])
                loss = huber(torch.sub(y[rows], guess))
                loss.backward()
                self.opt.step()
        return self

    def predict(self, X):
        self.model.eval()
        with torch.no_grad():
            return self.model(torch.tensor(X, dtype=torch.float32)).numpy()[:, 0]


X = rng.normal(size=(240, 5))
y = X @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + 0.1 * rng.normal(size=240)
model = Regressor(5).fit(X[:180], y[:180])
guess = model.predict(X[180:])
print("r:", np.corrcoef(guess, y[180:])[0, 1], "spread:", guess.std(), "of", y[180:].std())
