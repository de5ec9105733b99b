import numpy as np
import pandas as pd
import torch
from torch import nn


def make_frame(n=900, n_features=12, n_classes=5, seed=3):
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 1.2, (n_classes, n_features))
    y = rng.integers(0, n_classes, n)
    X = centers[y] + rng.normal(0, 1.0, (n, n_features))
    df = pd.DataFrame(X.astype(np.float32), columns=['f%d' % i for i in range(n_features)])
    df['target'] = y
    return df


class ClassifierModule(nn.Module):
    def __init__(self, n_in, n_classes, num_units=32, dropout=0.1):
        super().__init__()
        self.dense0 = nn.Linear(n_in, num_units)
        self.dropout = nn.Dropout(dropout)
        self.dense1 = nn.Linear(num_units, num_units)
        self.output = nn.Linear(num_units, n_classes)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, X):
        X = torch.relu(self.dense0(X))
        X = self.dropout(X)
        X = torch.relu(self.dense1(X))
        X = self.output(X)
        return X


class NetClassifier:
    """scikit-learn like wrapper with fit, predict and score"""

    def __init__(self, module, criterion=nn.CrossEntropyLoss, lr=0.1, max_epochs=15, batch_size=128, seed=0):
        self.module, self.criterion = module, criterion()
        self.lr, self.max_epochs, self.batch_size = lr, max_epochs, batch_size
        self.rng = np.random.default_rng(seed)
        self.history = []

    def _split(self, X, y, valid=0.2):
        order = self.rng.permutation(len(X))
        cut = int(len(X) * valid)
        return order[cut:], order[:cut]

    def fit(self, X, y):
        X, y = torch.as_tensor(X), torch.as_tensor(y)
        opt = torch.optim.SGD(self.module.parameters(), lr=self.lr)
        train, valid = self._split(X, y)
        for epoch in range(1, self.max_epochs + 1):
            self.module.train()
            losses = []
            for idx in np.array_split(self.rng.permutation(train), max(1, len(train) // self.batch_size)):
                opt.zero_grad()
                loss = self.criterion(self.module(X[idx]), y[idx])
                loss.backward()
                opt.step()
                losses.append(loss.item())
            self.module.eval()
            with torch.no_grad():
                out = self.module(X[valid])
                valid_loss = self.criterion(out, y[valid]).item()
                valid_acc = (out.argmax(1) == y[valid]).float().mean().item()
            self.history.append((epoch, np.mean(losses), valid_acc, valid_loss))
        return self

    def predict(self, X):
        self.module.eval()
        with torch.no_grad():
            return self.module(torch.as_tensor(X)).argmax(1).numpy()

    def score(self, X, y):
        return float((self.predict(X) == y).mean())


if __name__ == '__main__':
    torch.manual_seed(0)
    df = make_frame()
    X, y = df.drop(columns='target').to_numpy(copy=True), df['target'].to_numpy(copy=True)
    net = NetClassifier(ClassifierModule(X.shape[1], 5))
    net.fit(X[:700], y[:700])
    print('  epoch  train_loss  valid_acc  valid_loss')
    for row in net.history[::2]:
        print('%7d  %10.4f  %9.4f  %10.4f' % row)
    print('test accuracy %.3f' % net.score(X[700:], y[700:]))
