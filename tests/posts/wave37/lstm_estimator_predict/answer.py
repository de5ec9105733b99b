import numpy as np
import torch
import torch.nn as nn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class SensorLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, output_dim):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, output_dim)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])


class TorchClassifier(ClassifierMixin, BaseEstimator):
    """fit / predict wrapper so that the network can be used with the sklearn tools"""

    def __init__(self, module, max_epochs=10, lr=1e-2, batch_size=32,
                 iterator_train_shuffle=False, iterator_valid_shuffle=False, verbose=1):
        self.module = module
        self.max_epochs = max_epochs
        self.lr = lr
        self.batch_size = batch_size
        self.iterator_train_shuffle = iterator_train_shuffle
        self.iterator_valid_shuffle = iterator_valid_shuffle
        self.verbose = verbose

    def get_iterator(self, X, y=None, training=False):
        shuffle = self.iterator_train_shuffle if training else self.iterator_valid_shuffle
        tensors = [torch.as_tensor(X)] if y is None else [torch.as_tensor(X), torch.as_tensor(y)]
        return DataLoader(TensorDataset(*tensors), batch_size=self.batch_size, shuffle=shuffle)

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        X_fit, X_valid, y_fit, y_valid = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(self.module.parameters(), lr=self.lr)
        self.history_ = []
        for epoch in range(1, self.max_epochs + 1):
            self.module.train()
            train_hits = 0
            for xb, yb in self.get_iterator(X_fit, y_fit, training=True):
                xb, yb = xb.to(DEVICE), yb.to(DEVICE)
                scores = self.module(xb)
                loss = criterion(scores, yb)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                train_hits += (scores.argmax(1) == yb).sum().item()
            valid_hits = 0
            self.module.eval()
            with torch.no_grad():
                for xb, yb in self.get_iterator(X_valid, y_valid):
                    valid_hits += (self.module(xb.to(DEVICE)).argmax(1) == yb.to(DEVICE)).sum().item()
            row = dict(epoch=epoch, train_acc=train_hits / len(y_fit), valid_acc=valid_hits / len(y_valid))
            self.history_.append(row)
            if self.verbose:
                print("{epoch:>5d}  {train_acc:.4f}  {valid_acc:.4f}".format(**row))
        return self

    def predict(self, X):
        self.module.eval()
        y_pred = []
        with torch.no_grad():
            for (xb,) in self.get_iterator(X):
                y_pred.append(self.module(xb.to(DEVICE)).argmax(1).cpu().numpy())
        return np.concatenate(y_pred)


def make_windows(n, steps=20, channels=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    t = np.arange(steps)
    X = rng.normal(scale=0.6, size=(n, steps, channels))
    X[:, :, 0] += np.sin(t[None, :] * (0.3 + 0.5 * y[:, None]))
    X[:, :, 1] += (y[:, None] - 1) * 0.4
    return X.astype(np.float32), y.astype(np.int64)


torch.manual_seed(4)
X, y = make_windows(600)
X_train, X_valid, y_train, y_valid = train_test_split(X, y, test_size=0.25, random_state=1)
scaler = StandardScaler().fit(X_train.reshape(len(X_train), -1))
X_train = scaler.transform(X_train.reshape(len(X_train), -1)).reshape(X_train.shape)
X_valid = scaler.transform(X_valid.reshape(len(X_valid), -1)).reshape(X_valid.shape)

net = TorchClassifier(
    SensorLSTM(input_size=4, hidden_size=32, num_layers=1, output_dim=3).to(DEVICE),
    max_epochs=12,
    lr=5e-3,
    batch_size=32,
    iterator_train_shuffle=True,
    iterator_valid_shuffle=False,
)
print("epoch  train   valid")
net.fit(X_train, y_train)

y_pred_train = net.predict(X_train)
y_pred_valid = net.predict(X_valid)
print("train accuracy (sklearn): %.4f" % accuracy_score(y_train, y_pred_train))
print("valid accuracy (sklearn): %.4f" % accuracy_score(y_valid, y_pred_valid))
