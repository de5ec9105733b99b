import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(34)
X, y = make_classification(n_samples=300, n_features=30, n_informative=5, flip_y=0.2, random_state=34)


def make_model():
    return nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))


def fit(model, loader, epochs=15):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for _ in range(epochs):
        for xb, yb in loader:
            optimizer.zero_grad()
            criterion(model(xb), yb).backward()
            optimizer.step()


@torch.no_grad()
def score(model, x, t):
    model.eval()
    return (model(x).argmax(1) == t).float().mean().item()


folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
net = make_model()
scores = []
for k, (train_idx, val_idx) in enumerate(folds.split(X, y)):
    scaler = StandardScaler().fit(X[train_idx])
    x_train = torch.tensor(scaler.transform(X[train_idx]), dtype=torch.float32)
    x_val = torch.tensor(scaler.transform(X[val_idx]), dtype=torch.float32)
    y_train, y_val = torch.tensor(y[train_idx]), torch.tensor(y[val_idx])

    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=24, shuffle=True)
    fit(net, loader)
    scores.append(score(net, x_val, y_val))
    print(f"fold {k}: accuracy {scores[-1]:.3f}")

print(f"cross-validation accuracy {np.mean(scores):.3f} +- {np.std(scores):.3f}")
