import itertools
import json
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# ---- search space -------------------------------------------------
search_space = {
    "lr": list(np.logspace(-3, -2, 2)),
    "hidden": [32, 64],
    "shrink": [1, 2],
    "dropout": [0.0, 0.2],
}
n_epochs = 5
bs = 50


# ---- data: concrete strength, mixed by hand -----------------------
def concrete(n, rs):
    cement = rs.uniform(100, 540, n)
    water = rs.uniform(120, 250, n)
    slag = rs.uniform(0, 350, n)
    plasticizer = rs.uniform(0, 32, n)
    age = rs.choice([3, 7, 14, 28, 56, 90], n)
    strength = 0.09 * cement + 0.05 * slag - 0.14 * water + 0.4 * plasticizer + 9 * np.log(age) + 10
    X = np.column_stack([cement, water, slag, plasticizer, np.log(age)])
    return X, strength + rs.normal(0, 3, n)


rs = np.random.RandomState(4)
X, y = concrete(700, rs)
X = (X - X[:500].mean(0)) / X[:500].std(0)
y_mean, y_std = y[:500].mean(), y[:500].std()
y = (y - y_mean) / y_std
X, y = torch.tensor(X).float(), torch.tensor(y).float().view(-1, 1)
Xtr, ytr, Xva, yva = X[:500], y[:500], X[500:], y[500:]


class Regressor(nn.Module):
    def __init__(self, n_in, hidden, n_layers=3, shrink=1, dropout=0.0):
        super().__init__()
        layers, width = [], n_in
        for _ in range(n_layers):
            layers.append(nn.Linear(width, hidden))
            layers.append(nn.ReLU())
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
            width, hidden = hidden, hidden / shrink
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x))


def rmse(model, X, y):
    model.eval()
    with torch.no_grad():
        return F.mse_loss(model(X), y).sqrt().item() * y_std


def run_trial(params):
    torch.manual_seed(0)
    model = Regressor(Xtr.shape[1], params["hidden"], shrink=params["shrink"], dropout=params["dropout"])
    opt = torch.optim.Adam(model.parameters(), lr=params["lr"])
    best = float("inf")
    for epoch in range(n_epochs):
        model.train()
        perm = torch.randperm(len(Xtr))
        for i in range(0, len(Xtr), bs):
            xb, yb = Xtr[perm[i:i + bs]], ytr[perm[i:i + bs]]
            loss = F.mse_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        best = min(best, rmse(model, Xva, yva))
    return best


# ---- grid search ---------------------------------------------------
results = []
keys = list(search_space)
for values in itertools.product(*search_space.values()):
    params = dict(zip(keys, values))
    score = run_trial(params)
    results.append({**params, "rmse": round(float(score), 3)})

results.sort(key=lambda r: r["rmse"])
for r in results[:5]:
    print(json.dumps(r))
print("best:", results[0])
