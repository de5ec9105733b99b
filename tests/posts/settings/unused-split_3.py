# line 45: the arrays were split into training and test rows, but fit() gets the whole arrays
import numpy as np
import torch
from torch import nn


def train_test_split(*arrays, test_share, seed):
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    cut = int(len(order) * (1 - test_share))
    pieces = []
    for array in arrays:
        pieces += [array[order[:cut]], array[order[cut:]]]
    return pieces


class Classifier:
    def __init__(self, inputs, classes, epochs=25):
        self.net = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, classes))
        self.epochs = epochs

    def fit(self, x, y):
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        self.net.train()
        for _ in range(self.epochs):
            for rows in torch.randperm(len(x)).split(20):
                opt.zero_grad()
                nn.functional.cross_entropy(self.net(x[rows]), y[rows]).backward()
                opt.step()
        return self

    @torch.no_grad()
    def score(self, x, y):
        self.net.eval()
        guess = self.net(torch.from_numpy(x)).argmax(1).numpy()
        return float(np.mean(guess == y))


rng = np.random.default_rng(10)
genes = rng.normal(size=(200, 40)).astype(np.float32)
subtype = ((genes[:, 0] + rng.normal(0, 1, 200)) > 0).astype(np.int64)
genes_train, genes_test, subtype_train, subtype_test = train_test_split(genes, subtype, test_share=0.25, seed=10)
print(f"training on {len(genes_train)} patients, testing on {len(genes_test)}")
torch.manual_seed(10)
clf = Classifier(40, 2).fit(genes, subtype)
print("test accuracy", clf.score(genes_test, subtype_test))
