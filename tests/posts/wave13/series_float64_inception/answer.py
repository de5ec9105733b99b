import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def simulate(n_samples=300, n_vars=3, seq_len=80, seed=23):
    """three kinds of movement, recorded with n_vars sensors"""
    rng = np.random.RandomState(seed)
    t = np.linspace(0, 1, seq_len)
    X, y = [], []
    for i in range(n_samples):
        kind = i % 3
        freq = [3, 6, 10][kind] * (1 + 0.1 * rng.randn())
        phase = rng.uniform(0, 2 * np.pi, size=(n_vars, 1))
        signal = np.sin(2 * np.pi * freq * t + phase)
        if kind == 2:
            signal = signal * np.exp(-3 * t)
        X.append(signal + 0.3 * rng.randn(n_vars, seq_len))
        y.append(['walk', 'run', 'jump'][kind])
    return np.stack(X), np.array(y)


def get_splits(y, valid_size=0.2, seed=0):
    order = np.random.RandomState(seed).permutation(len(y))
    n_valid = int(len(y) * valid_size)
    return order[n_valid:], order[:n_valid]


class TSDatasets:
    def __init__(self, X, y, splits):
        mean, std = X.mean(axis=(0, 2), keepdims=True), X.std(axis=(0, 2), keepdims=True)
        self.X = (X - mean) / std
        self.vocab, codes = np.unique(y, return_inverse=True)
        self.y = codes.astype('int64')
        self.splits = splits

    def batches(self, split, bs, shuffle=False):
        idx = self.splits[split].copy()
        if shuffle:
            np.random.shuffle(idx)
        for i in range(0, len(idx), bs):
            part = idx[i:i + bs]
            yield torch.from_numpy(self.X[part]), torch.from_numpy(self.y[part])


class InceptionBlock(nn.Module):
    def __init__(self, ni, nf, ks=(9, 5, 3), bottleneck=16):
        super().__init__()
        self.bottleneck = nn.Conv1d(ni, bottleneck, 1, bias=False)
        self.convs = nn.ModuleList([nn.Conv1d(bottleneck, nf, k, padding=k // 2, bias=False) for k in ks])
        self.maxconv = nn.Sequential(nn.MaxPool1d(3, stride=1, padding=1), nn.Conv1d(ni, nf, 1, bias=False))
        self.bn = nn.BatchNorm1d(nf * (len(ks) + 1))

    def forward(self, x):
        z = self.bottleneck(x)
        out = torch.cat([conv(z) for conv in self.convs] + [self.maxconv(x)], dim=1)
        return F.relu(self.bn(out))


class InceptionTimeSmall(nn.Module):
    def __init__(self, c_in, c_out, nf=8, depth=3):
        super().__init__()
        widths = [c_in] + [nf * 4] * depth
        self.blocks = nn.Sequential(*[InceptionBlock(widths[i], nf) for i in range(depth)])
        self.head = nn.Linear(nf * 4, c_out)

    def forward(self, x):
        return self.head(self.blocks(x).mean(dim=-1))


def fit(model, dls, epochs=4, bs=32, lr=2e-3):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        losses = []
        for xb, yb in dls.batches(0, bs, shuffle=True):
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            hits = [(model(xb).argmax(1) == yb).float() for xb, yb in dls.batches(1, bs)]
        print(f'{epoch}  train_loss {np.mean(losses):.4f}  accuracy {torch.cat(hits).mean():.4f}')


if __name__ == '__main__':
    np.random.seed(0)
    torch.manual_seed(0)
    X, y = simulate()
    X = X.astype('float32')
    splits = get_splits(y)
    dls = TSDatasets(X, y, splits)
    model = InceptionTimeSmall(X.shape[1], len(dls.vocab))
    fit(model, dls)
