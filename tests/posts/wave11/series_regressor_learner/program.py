import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TSDataset(Dataset):
    """time series (samples x variables x steps) with a number for each of them"""

    def __init__(self, X, y):
        self.X, self.y = X.astype(np.float32), y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return torch.from_numpy(self.X[i]), torch.tensor(self.y[i].item(), dtype=torch.float32)


class ConvBlock(nn.Sequential):
    def __init__(self, ni, nf, ks):
        super().__init__(nn.Conv1d(ni, nf, ks, padding=ks // 2), nn.BatchNorm1d(nf), nn.ReLU())


class FCN(nn.Module):
    def __init__(self, c_in, c_out, layers=(32, 64, 32), kss=(7, 5, 3)):
        super().__init__()
        self.block1 = ConvBlock(c_in, layers[0], kss[0])
        self.block2 = ConvBlock(layers[0], layers[1], kss[1])
        self.block3 = ConvBlock(layers[1], layers[2], kss[2])
        self.gap = nn.AdaptiveAvgPool1d(1)
        self.fc = nn.Linear(layers[2], c_out)

    def forward(self, x):
        x = self.block3(self.block2(self.block1(x)))
        return self.fc(self.gap(x).squeeze(-1))


class MSELossFlat(nn.Module):
    def forward(self, inp, targ):
        return F.mse_loss(inp.flatten(), targ.flatten())


class Learner:
    def __init__(self, model, train_ds, valid_ds, bs=16):
        self.model = model
        self.train_dl = DataLoader(train_ds, batch_size=bs, shuffle=True, drop_last=True)
        self.valid_dl = DataLoader(valid_ds, batch_size=bs)
        # one number per series, or several
        self.loss_func = MSELossFlat() if train_ds.y.ndim == 1 else nn.MSELoss()

    def fit(self, n_epoch, lr):
        opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        for epoch in range(n_epoch):
            self.model.train()
            losses = []
            for xb, yb in self.train_dl:
                loss = self.loss_func(self.model(xb), yb)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
            print(f'{epoch}  train {np.mean(losses):.4f}  valid mae {self.mae():.4f}')

    def mae(self):
        self.model.eval()
        with torch.no_grad():
            errors = [(self.model(xb).flatten() - yb).abs() for xb, yb in self.valid_dl]
        return torch.cat(errors).mean().item()


torch.manual_seed(0)
rng = np.random.RandomState(0)
t = np.linspace(0, 6, 84)
n_samples = 240
level = rng.rand(n_samples, 1) * 4
X = level[:, :, None] * np.sin(t + rng.rand(n_samples, 3, 1)) + 0.1 * rng.randn(n_samples, 3, 84)
y = level
print(X.shape, y.shape)

train_ds = TSDataset(X[:192], y[:192])
valid_ds = TSDataset(X[192:], y[192:])
model = FCN(X.shape[1], 1)
learn = Learner(model, train_ds, valid_ds)
learn.fit(8, 3e-3)
