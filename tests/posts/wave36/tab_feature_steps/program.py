import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class GLULayer(nn.Module):
    def __init__(self, d_in, d_out, fc=None, momentum=0.2):
        super().__init__()
        self.d_out = d_out
        self.fc = fc if fc is not None else nn.Linear(d_in, 2 * d_out, bias=False)
        self.bn = nn.BatchNorm1d(2 * d_out, momentum=momentum)

    def forward(self, x):
        x = self.bn(self.fc(x))
        return x[:, :self.d_out] * torch.sigmoid(x[:, self.d_out:])


class GLUBlock(nn.Module):
    def __init__(self, d_in, d_out, n_glu=2, first=False, shared_fcs=None, momentum=0.2):
        super().__init__()
        self.first = first
        self.n_glu = n_glu
        self.layers = nn.ModuleList()
        for i in range(n_glu):
            fc = shared_fcs[i] if shared_fcs is not None else None
            self.layers.append(GLULayer(d_in if i == 0 else d_out, d_out, fc=fc, momentum=momentum))

    def forward(self, x):
        scale = 0.5 ** 0.5
        start = 0
        if self.first:
            x = self.layers[0](x)
            start = 1
        for layer in self.layers[start:]:
            x = (x + layer(x)) * scale
        return x


class FeatureTransformer(nn.Module):
    def __init__(self, d_in, d_out, shared_fcs, n_independent, momentum=0.2):
        super().__init__()
        params = {'n_glu': n_independent, 'momentum': momentum}
        self.shared = GLUBlock(d_in, d_out, first=True, shared_fcs=shared_fcs, **params)
        self.specific = GLUBlock(d_out, d_out, first=False, **params)

    def forward(self, x):
        return self.specific(self.shared(x))


class StepNet(nn.Module):
    """Tabular encoder: several decision steps with a soft feature mask each."""

    def __init__(self, d_in, n_classes, n_d=8, n_a=8, n_steps=3, gamma=1.3,
                 n_independent=2, n_shared=2):
        super().__init__()
        self.n_d, self.n_steps, self.gamma = n_d, n_steps, gamma
        self.input_bn = nn.BatchNorm1d(d_in, momentum=0.1)
        shared_fcs = nn.ModuleList()
        for i in range(n_shared):
            shared_fcs.append(nn.Linear(d_in if i == 0 else n_d + n_a, 2 * (n_d + n_a), bias=False))
        self.splitter = FeatureTransformer(d_in, n_d + n_a, shared_fcs, n_independent)
        self.steps = nn.ModuleList(
            FeatureTransformer(d_in, n_d + n_a, shared_fcs, n_independent) for _ in range(n_steps))
        self.attentive = nn.ModuleList(
            nn.Sequential(nn.Linear(n_a, d_in, bias=False), nn.BatchNorm1d(d_in)) for _ in range(n_steps))
        self.out = nn.Linear(n_d, n_classes)

    def forward(self, x):
        x = self.input_bn(x)
        prior = torch.ones_like(x)
        att = self.splitter(x)[:, self.n_d:]
        agg, sparsity = 0, 0
        for transform, attend in zip(self.steps, self.attentive):
            mask = F.softmax(attend(att) * prior, dim=1)
            sparsity = sparsity - (mask * torch.log(mask + 1e-8)).sum(1).mean() / self.n_steps
            prior = prior * (self.gamma - mask)
            hidden = transform(mask * x)
            agg = agg + F.relu(hidden[:, :self.n_d])
            att = hidden[:, self.n_d:]
        return self.out(agg), sparsity


def load_table(n=600):
    rng = np.random.default_rng(4)
    df = pd.DataFrame({
        'age': rng.integers(18, 80, n), 'hours': rng.normal(40, 9, n),
        'education': rng.integers(1, 17, n), 'capital': rng.exponential(900, n),
        'sector': rng.integers(0, 6, n), 'tenure': rng.gamma(2.0, 4.0, n)})
    score = 0.03 * df.age + 0.05 * df.hours + 0.2 * df.education + rng.normal(0, 0.6, n)
    df['target'] = (score > score.median()).astype(int)
    return df


if __name__ == '__main__':
    torch.manual_seed(0)
    df = load_table()
    X = df.drop(columns='target').values.astype(np.float32)
    y = df['target'].values
    X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, random_state=0)
    loader = DataLoader(TensorDataset(torch.from_numpy(X_tr), torch.from_numpy(y_tr)),
                        batch_size=64, shuffle=True, drop_last=True)

    clf = StepNet(X.shape[1], 2, n_steps=3, n_independent=2, n_shared=1)
    optimizer = torch.optim.Adam(clf.parameters(), lr=2e-2)
    for epoch in range(8):
        clf.train()
        for xb, yb in loader:
            logits, sparsity = clf(xb)
            loss = F.cross_entropy(logits, yb) + 1e-3 * sparsity
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        clf.eval()
        with torch.no_grad():
            pred = clf(torch.from_numpy(X_va))[0].argmax(1).numpy()
        print(f'epoch {epoch} | loss {loss.item():.4f} | valid acc {(pred == y_va).mean():.3f}')
