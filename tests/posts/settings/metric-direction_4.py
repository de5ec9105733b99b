# line 54: min over the trials keeps the one with the lowest AUC as the best
import itertools

import numpy as np
import torch
import torch.nn as nn
from scipy.stats import rankdata


def auc(score, truth):
    ranks = rankdata(score)
    pos = truth == 1
    n_pos, n_neg = pos.sum(), (~pos).sum()
    return (ranks[pos].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


def patients(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, 8)).astype(np.float32)
    risk = x[:, 0] * x[:, 1] + 0.7 * x[:, 2] + 0.7 * r.normal(size=n)
    return torch.from_numpy(x), torch.from_numpy((risk > 0.8).astype(np.float32))


def train_model(x, y, width, lr, epochs=6):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    loss_fn = nn.BCEWithLogitsLoss()
    net.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            loss_fn(net(x[rows]).squeeze(1), y[rows]).backward()
            optimizer.step()
    return net


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        return auc(net(x).squeeze(1).numpy(), y.numpy())


x_train, y_train = patients(600, 1)
x_valid, y_valid = patients(200, 2)
x_test, y_test = patients(400, 3)

trials = []
for width, lr in itertools.product([4, 32], [1e-4, 1e-2]):
    net = train_model(x_train, y_train, width, lr)
    trials.append({"width": width, "lr": lr, "val_auc": evaluate(net, x_valid, y_valid), "net": net})
    print(width, lr, "val auc %.3f" % trials[-1]["val_auc"])

best = min(trials, key=lambda trial: trial["val_auc"])
print("chosen", best["width"], best["lr"], "test auc %.3f" % evaluate(best["net"], x_test, y_test))
