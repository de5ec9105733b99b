# line 41: one network is built above the loop over the folds and goes on with the weights of the folds before
import numpy as np
import pandas as pd
import torch
import torch.nn as nn

SEED, K = 17, 5
np.random.seed(SEED)
torch.manual_seed(SEED)

wine = pd.DataFrame(np.random.randn(300, 11), columns=["c%02d" % i for i in range(11)])
wine["quality"] = np.digitize(wine.c00 + 0.5 * wine.c01 + 1.2 * np.random.randn(300), [-0.7, 0.7])
X = wine.drop(columns="quality").values.astype("float32")
y = wine.quality.values.astype("int64")
folds = np.array_split(np.random.permutation(len(X)), K)


def make_mlp():
    return nn.Sequential(nn.Linear(11, 64), nn.ReLU(), nn.Linear(64, 3))


def fit(mlp, X, y, epochs=15):
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    optimizer = torch.optim.Adam(mlp.parameters(), lr=3e-3)
    mlp.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(mlp(X[rows]), y[rows]).backward()
            optimizer.step()


def score(mlp, X, y):
    mlp.eval()
    with torch.no_grad():
        guess = mlp(torch.from_numpy(X)).argmax(1).numpy()
    return (guess == y).mean()


results = []
for k in range(K):
    mlp = make_mlp()
    held_out = folds[k]
    rest = np.concatenate([folds[j] for j in range(K) if j != k])
    mean, std = X[rest].mean(0), X[rest].std(0)
    fit(mlp, (X[rest] - mean) / std, y[rest])
    results.append(score(mlp, (X[held_out] - mean) / std, y[held_out]))
    print("fold", k, "accuracy %.3f" % results[-1])
print("cross validated %.3f +- %.3f" % (np.mean(results), np.std(results)))
