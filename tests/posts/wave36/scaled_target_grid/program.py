import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler


class Net(nn.Module):
    def __init__(self, n_in, n_hidden, n_out, dropout):
        super().__init__()
        self.hidden = nn.Linear(n_in, n_hidden)
        self.hidden2 = nn.Linear(n_hidden, n_hidden)
        self.out = nn.Linear(n_hidden, n_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        x = self.dropout(torch.relu(self.hidden2(x)))
        return self.out(x)


class TorchNet(BaseEstimator):
    """Small scikit-learn wrapper, enough for Pipeline and GridSearchCV."""

    def __init__(self, n_hidden=16, dropout=0.1, lr=0.01, epochs=5, batch_size=32):
        self.n_hidden = n_hidden
        self.dropout = dropout
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size

    def train_loop(self, X, y, n_out, criterion):
        torch.manual_seed(0)
        self.module_ = Net(X.shape[1], self.n_hidden, n_out, self.dropout)
        opt = torch.optim.Adam(self.module_.parameters(), lr=self.lr)
        data = TensorDataset(torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y))
        for _ in range(self.epochs):
            self.module_.train()
            for xb, yb in DataLoader(data, batch_size=self.batch_size, shuffle=True):
                opt.zero_grad()
                loss = criterion(self.module_(xb).squeeze(-1), yb)
                loss.backward()
                opt.step()
        self.module_.eval()
        return self

    @torch.no_grad()
    def forward_numpy(self, X):
        return self.module_(torch.as_tensor(X, dtype=torch.float32)).numpy()


class TorchClassifier(ClassifierMixin, TorchNet):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self.train_loop(X, y, len(self.classes_), nn.CrossEntropyLoss())

    def predict(self, X):
        return self.classes_[self.forward_numpy(X).argmax(axis=1)]


class TorchRegressor(RegressorMixin, TorchNet):
    def fit(self, X, y):
        return self.train_loop(X, y, 1, nn.MSELoss())

    def predict(self, X):
        return self.forward_numpy(X)[:, 0]


def load_measurements(n=400):
    rng = np.random.default_rng(4)
    df = pd.DataFrame(rng.normal(size=(n, 6)), columns=["rpm", "feed", "depth", "temp", "load", "vib"])
    df["roughness"] = 2.0 + 0.7 * df["feed"] - 0.4 * df["rpm"] + 0.2 * df["vib"] ** 2 + 0.05 * rng.normal(size=n)
    return df


def main():
    df = load_measurements()
    X = df.drop(columns="roughness").to_numpy()
    y = MinMaxScaler().fit_transform(df[["roughness"]]).ravel().astype(np.float32)

    pipe = Pipeline([
        ("scale", StandardScaler()),
        ("net", TorchClassifier()),
    ])
    params = {
        "net__lr": [0.01, 0.003],
        "net__n_hidden": [16, 32],
    }
    search = GridSearchCV(pipe, params, cv=3, refit=True, error_score="raise")
    search.fit(X, y)

    print("best score: %.3f" % search.best_score_)
    print("best params:", search.best_params_)
    print("first predictions:", search.predict(X[:4]).round(3))


if __name__ == "__main__":
    main()
