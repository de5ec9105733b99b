import json
import os
import sys

import numpy as np
import torch
import torch.nn as nn

# Credit scoring service: `train` writes model.pt and scaler.json, `score` is what the web app calls.
FEATURES = ["income", "age", "debt_ratio", "open_lines", "late_payments"]
ART = "artifacts"


class ScoreNet(nn.Module):
    def __init__(self, n_in, hidden=(64, 32), p=0.4):
        super().__init__()
        layers = []
        for h in hidden:
            layers += [nn.Linear(n_in, h), nn.ReLU(), nn.Dropout(p)]
            n_in = h
        layers.append(nn.Linear(n_in, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def load_customers(n=2000, seed=5):
    rng = np.random.default_rng(seed)
    x = np.column_stack([
        rng.lognormal(10.3, 0.5, n), rng.integers(18, 80, n), rng.beta(2, 4, n),
        rng.poisson(4, n), rng.poisson(0.6, n),
    ])
    z = -1.0 - 0.8 * (np.log(x[:, 0]) - 10.3) - 0.02 * (x[:, 1] - 45) + 3.0 * (x[:, 2] - 0.33) + 0.9 * x[:, 4]
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    return x.astype(np.float32), y.astype(np.float32)


def train():
    torch.manual_seed(5)
    x, y = load_customers()
    mean, std = x.mean(0), x.std(0)
    with open(os.path.join(ART, "scaler.json"), "w") as f:
        json.dump({"mean": mean.tolist(), "std": std.tolist()}, f)
    x, y = torch.from_numpy((x - mean) / std), torch.from_numpy(y)
    net = ScoreNet(len(FEATURES))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    bce = nn.BCEWithLogitsLoss()
    net.train()
    for epoch in range(10):
        order = torch.randperm(len(x))
        total = 0.0
        for idx in order.split(64):
            opt.zero_grad()
            loss = bce(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
    print("final training loss %.4f" % (total / len(x)))
    torch.save(net.state_dict(), os.path.join(ART, "model.pt"))


class Scorer:
    """Loaded once when the web app starts."""

    def __init__(self, folder):
        with open(os.path.join(folder, "scaler.json")) as f:
            s = json.load(f)
        self.mean = torch.tensor(s["mean"])
        self.std = torch.tensor(s["std"])
        self.net = ScoreNet(len(FEATURES))
        self.net.load_state_dict(torch.load(os.path.join(folder, "model.pt"), map_location="cpu"))

    def __call__(self, customer):
        x = torch.tensor([float(customer[k]) for k in FEATURES])
        with torch.no_grad():
            logit = self.net(((x - self.mean) / self.std).unsqueeze(0))
        return torch.sigmoid(logit).item()


def main(argv):
    os.makedirs(ART, exist_ok=True)
    train()
    scorer = Scorer(ART)
    customer = dict(zip(FEATURES, (31000, 39, 0.45, 5, 1)))
    if len(argv) > 1:
        customer.update(json.loads(argv[1]))
    print("customer:", customer)
    for request in range(5):
        print("request %d: default risk %.4f" % (request, scorer(customer)))


if __name__ == "__main__":
    main(sys.argv)
