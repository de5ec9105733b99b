import os
import tempfile
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import mean_absolute_error
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)
workdir = tempfile.mkdtemp()


class EnergyModel(nn.Module):
    def __init__(self, n_in=6, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def make_loaders():
    x = np.random.randn(500, 6).astype(np.float32)
    y = (x[:, 0] * 2 - x[:, 1] ** 2 + 0.1 * np.random.randn(500)).astype(np.float32)
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)
    return (DataLoader(TensorDataset(tx[:400], ty[:400]), batch_size=40, shuffle=True),
            DataLoader(TensorDataset(tx[400:], ty[400:]), batch_size=100))


class Checkpointer:
    def __init__(self, folder):
        self.folder = folder
        self.best = np.float64('inf')

    def step(self, model, optimizer, epoch, score):
        if score < self.best:
            self.best = float(score)
            torch.save({
                'epoch': epoch,
                'best_mae': self.best,
                'state_dict': model.state_dict(),
                'optim': optimizer.state_dict(),
            }, os.path.join(self.folder, 'best.pt'))

    def load(self, model, optimizer=None):
        ckpt = torch.load(os.path.join(self.folder, 'best.pt'), map_location='cpu')
        model.load_state_dict(ckpt['state_dict'])
        if optimizer is not None:
            optimizer.load_state_dict(ckpt['optim'])
        return ckpt['epoch'], ckpt['best_mae']


def evaluate(model, loader):
    model.eval()
    preds, trues = [], []
    with torch.no_grad():
        for x, y in loader:
            preds.append(model(x).numpy())
            trues.append(y.numpy())
    return np.mean(np.abs(np.concatenate(preds) - np.concatenate(trues)))


train_dl, val_dl = make_loaders()
model = EnergyModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.L1Loss()
ckpt = Checkpointer(workdir)

for epoch in range(5):
    model.train()
    for x, y in train_dl:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
    mae = evaluate(model, val_dl)
    ckpt.step(model, optimizer, epoch, mae)
    print('epoch', epoch, 'mae', mae)

final = EnergyModel()
epoch, best = ckpt.load(final)
print('restored epoch', epoch, 'with mae', best, 'again', evaluate(final, val_dl))
