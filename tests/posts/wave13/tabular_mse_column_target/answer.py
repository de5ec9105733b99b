import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def load_house_prices(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    num = rng.normal(size=(n, 6))
    cat = rng.integers(0, 4, size=(n, 2))
    offset = np.array([-1.5, 0.0, 0.7, 2.0])
    y = 2.0 * num[:, 0] - num[:, 1] * num[:, 2] + offset[cat[:, 0]] + 0.5 * offset[cat[:, 1]]
    y = 180 + 40 * (y + 0.2 * rng.normal(size=n))
    cut = [int(n * 0.7), int(n * 0.85)]
    part = lambda a: dict(zip(['train', 'val', 'test'], np.split(a, cut)))
    return part(num), part(cat), part(y)


class LabelNorm:
    """zero mean and unit variance for the label, from the training part"""

    def fit(self, y):
        y = y.reshape(-1, 1)
        self.mean, self.std = y.mean(axis=0), y.std(axis=0)
        return self

    def transform(self, y):
        return (y.reshape(-1, 1) - self.mean) / self.std


class ResNetTab(nn.Module):
    def __init__(self, d_num, cat_sizes, d=64, n_blocks=2, d_emb=4, dropout=0.1):
        super().__init__()
        self.emb = nn.ModuleList([nn.Embedding(c, d_emb) for c in cat_sizes])
        self.first = nn.Linear(d_num + d_emb * len(cat_sizes), d)
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.BatchNorm1d(d), nn.Linear(d, 2 * d), nn.ReLU(),
                          nn.Dropout(dropout), nn.Linear(2 * d, d))
            for _ in range(n_blocks)])
        self.norm = nn.BatchNorm1d(d)
        self.head = nn.Linear(d, 1)

    def forward(self, x_num, x_cat):
        parts = [x_num] + [e(x_cat[:, i]) for i, e in enumerate(self.emb)]
        x = self.first(torch.cat(parts, dim=1))
        for block in self.blocks:
            x = x + block(x)
        return self.head(F.relu(self.norm(x))).squeeze(-1)


class Method:
    def __init__(self, N, C, y):
        self.label = LabelNorm().fit(y['train'])
        mean, std = N['train'].mean(0), N['train'].std(0)
        self.data = {}
        for part in y:
            self.data[part] = TensorDataset(
                torch.tensor((N[part] - mean) / std, dtype=torch.float32),
                torch.tensor(C[part]),
                torch.tensor(self.label.transform(y[part]), dtype=torch.float32))
        self.model = ResNetTab(N['train'].shape[1], [4, 4])
        self.criterion = F.mse_loss

    def fit(self, max_epoch=12):
        opt = torch.optim.AdamW(self.model.parameters(), lr=2e-3, weight_decay=1e-5)
        loader = DataLoader(self.data['train'], batch_size=70, shuffle=True)
        for epoch in range(max_epoch):
            self.model.train()
            total = 0.0
            for x_num, x_cat, yb in loader:
                loss = self.criterion(self.model(x_num, x_cat), yb.squeeze(-1))
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item()
            if epoch % 3 == 2:
                print(f'epoch {epoch + 1}, train loss={total / len(loader):.4f}, val RMSE={self.rmse("val"):.2f}')

    @torch.no_grad()
    def rmse(self, part):
        self.model.eval()
        x_num, x_cat, y = self.data[part].tensors
        pred = self.model(x_num, x_cat).numpy()
        error = (pred - y.numpy().ravel()) * self.label.std
        return float(np.sqrt(np.mean(error ** 2)))


if __name__ == '__main__':
    torch.manual_seed(0)
    method = Method(*load_house_prices())
    method.fit()
    print(f'test RMSE {method.rmse("test"):.2f}, spread of the label {method.label.std[0]:.2f}')
