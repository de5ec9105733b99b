import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 42
N_MEMBERS = 6


def make_data(n, seed, lo, hi):
    g = np.random.default_rng(seed)
    x = g.uniform(lo, hi, (n, 1))
    y = np.sin(2 * x) + 0.3 * x + g.normal(0, 0.15, (n, 1))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class Regressor(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, 1)
        self.log_var = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h).clamp(-8, 4)


def nll(mean, log_var, y):
    return 0.5 * (log_var + (y - mean) ** 2 / log_var.exp()).mean()


def train_member(x, y, seed, epochs=60):
    torch.manual_seed(seed)
    model = Regressor()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for xb, yb in loader:
            loss = nll(*model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"  member trained, last batch NLL {loss.item():.3f}")
    return model.eval()


@torch.no_grad()
def predict(members, x):
    means, log_vars = zip(*(m(x) for m in members))
    means, variances = torch.stack(means), torch.stack(log_vars).exp()
    mu = means.mean(0)
    total_var = (variances + means ** 2).mean(0) - mu ** 2
    return mu, total_var.clamp_min(1e-8)


def report(name, members, x, y):
    mu, var = predict(members, x)
    inside = ((y - mu).abs() <= 1.96 * var.sqrt()).float().mean().item()
    rmse = (y - mu).pow(2).mean().sqrt().item()
    print(f"{name:>14}: RMSE {rmse:.3f}  mean sigma {var.sqrt().mean():.3f}  95% coverage {inside:.3f}")


left, right = make_data(160, seed=1, lo=-3.0, hi=-1.2), make_data(160, seed=2, lo=1.2, hi=3.0)
x_train, y_train = (torch.cat(pair) for pair in zip(left, right))
x_test, y_test = make_data(300, seed=3, lo=1.2, hi=3.0)
x_gap, y_gap = make_data(300, seed=4, lo=-1.0, hi=1.0)

members = []
for k in range(N_MEMBERS):
    print(f"member {k + 1}/{N_MEMBERS}")
    members.append(train_member(x_train, y_train, SEED + k))

report("in range", members, x_test, y_test)
report("gap in data", members, x_gap, y_gap)
