"""Anomaly detector for pump vibrations; average precision and the worst cases for the report."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
WINDOW = 64


def vibrations(n, faulty_share, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(WINDOW)
    base = np.sin(0.4 * t + rng.uniform(0, 6.28, (n, 1))) + 0.1 * rng.standard_normal((n, WINDOW))
    faulty = rng.random(n) < faulty_share
    base[faulty] += 0.6 * np.sin(1.7 * t)
    return torch.tensor(base, dtype=torch.float32), torch.tensor(faulty.astype(np.int64))


class Denoiser(nn.Module):
    def __init__(self, noise=0.2):
        super().__init__()
        self.noise = noise
        self.enc = nn.Sequential(nn.Linear(WINDOW, 24), nn.SiLU(), nn.Linear(24, 4))
        self.dec = nn.Sequential(nn.Linear(4, 24), nn.SiLU(), nn.Linear(24, WINDOW))

    def forward(self, x):
        if self.training:
            x = x + self.noise * torch.randn_like(x)
        return self.dec(self.enc(x))


class Detector:
    def __init__(self, epochs=12, lr=5e-3):
        self.model = Denoiser().to(DEVICE)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.epochs = epochs

    def fit(self, x):
        loader = DataLoader(TensorDataset(x), batch_size=50, shuffle=True)
        for epoch in range(self.epochs):
            self.model.train()
            running = 0.0
            for (xb,) in loader:
                xb = xb.to(DEVICE)
                loss = (self.model(xb) - xb).pow(2).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                running += loss.item()
            if epoch % 4 == 3:
                print(f"epoch {epoch + 1} mse {running / len(loader):.4f}")
        return self

    @torch.no_grad()
    def score(self, x):
        self.model.eval()
        scores = []
        for xb in x.split(100):
            xb = xb.to(DEVICE)
            scores.append((self.model(xb) - xb).pow(2).mean(dim=1))
        return torch.cat(scores)


def report(detector, x, faulty):
    scores = detector.score(x)
    table = pd.DataFrame({"score": scores.numpy(), "faulty": faulty.numpy()})
    print("average precision %.3f" % average_precision_score(table["faulty"], table["score"]))
    print(table.sort_values("score", ascending=False).head(5).round(4).to_string())


if __name__ == "__main__":
    torch.manual_seed(0)
    normal, _ = vibrations(500, 0.0, seed=0)
    x_test, y_test = vibrations(300, 0.1, seed=1)
    report(Detector().fit(normal), x_test, y_test)
