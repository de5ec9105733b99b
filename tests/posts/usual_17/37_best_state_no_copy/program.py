import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


class EarlyStopping:
    """Stops when the validation loss has not improved for `patience` epochs."""

    def __init__(self, patience=5, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.best_loss = float('inf')
        self.best_epoch = -1
        self.best_state = None
        self.counter = 0

    def __call__(self, val_loss, model, epoch):
        if val_loss < self.best_loss - self.min_delta:
            self.best_loss = val_loss
            self.best_epoch = epoch
            self.best_state = model.state_dict()
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


class TabularNet(nn.Module):
    def __init__(self, n_in, n_classes, hidden=256):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, n_classes))

    def forward(self, x):
        return self.net(x)


def get_data():
    X, y = make_classification(900, 30, n_informative=8, n_classes=3, flip_y=0.15, random_state=0)
    X = X.astype(np.float32)
    parts = train_test_split(X, y, test_size=0.4, random_state=0)
    X_tr, X_rest, y_tr, y_rest = parts
    X_va, X_te, y_va, y_te = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    mk = lambda a, b: TensorDataset(torch.from_numpy(a), torch.from_numpy(b))
    return mk(X_tr, y_tr), mk(X_va, y_va), mk(X_te, y_te)


def evaluate(model, loader, criterion):
    model.eval()
    loss, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, correct / n


def main():
    train_set, val_set, test_set = get_data()
    train_dl = DataLoader(train_set, batch_size=32, shuffle=True)
    val_dl, test_dl = DataLoader(val_set, batch_size=64), DataLoader(test_set, batch_size=64)
    model = TabularNet(30, 3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    stopper = EarlyStopping(patience=8)

    for epoch in range(60):
        model.train()
        for x, y in train_dl:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        val_loss, val_acc = evaluate(model, val_dl, criterion)
        if stopper(val_loss, model, epoch):
            print('early stop at epoch', epoch)
            break

    print(f'best epoch {stopper.best_epoch} with val loss {stopper.best_loss:.4f}')
    model.load_state_dict(stopper.best_state)
    print('restored: val loss %.4f acc %.3f' % evaluate(model, val_dl, criterion))
    print('test: loss %.4f acc %.3f' % evaluate(model, test_dl, criterion))


if __name__ == '__main__':
    main()
