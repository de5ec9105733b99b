"""DANN on two made-up sensor domains: gradient reversal between features and domain classifier."""
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lambd * grad_output


def grad_reverse(x, lambd=1.0):
    return GradReverse.apply(x, lambd)


class DANN(nn.Module):
    def __init__(self, in_dim, num_classes):
        super().__init__()
        self.feature = nn.Sequential(
            nn.Linear(in_dim, 64), nn.BatchNorm1d(64), nn.ReLU(inplace=True),
            nn.Linear(64, 32), nn.ReLU(),
        )
        self.class_classifier = nn.Linear(32, num_classes)
        self.domain_classifier = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x, alpha):
        feat = self.feature(x)
        return self.class_classifier(feat), self.domain_classifier(grad_reverse(feat, alpha))


def make_domain(n, shift, seed):
    r = np.random.default_rng(seed)
    y = r.integers(0, 3, n)
    centers = np.array([[2, 0], [-1, 2], [-1, -2]], dtype=np.float32)
    base = centers[y] + r.normal(0, 0.6, (n, 2))
    rest = r.normal(0, 1, (n, 6)) + shift
    x = np.concatenate([base + 0.5 * shift, rest], axis=1).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(y)


torch.manual_seed(0)
xs, ys = make_domain(640, 0.0, 1)
xt, yt = make_domain(640, 1.5, 2)
source = DataLoader(TensorDataset(xs, ys), batch_size=64, shuffle=True, drop_last=True)
target = DataLoader(TensorDataset(xt), batch_size=64, shuffle=True, drop_last=True)

net = DANN(xs.shape[1], 3)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
n_epoch = 6
n_steps = min(len(source), len(target))

for epoch in range(n_epoch):
    net.train()
    for i, ((x_s, y_s), (x_t,)) in enumerate(zip(source, target)):
        p = (i + epoch * n_steps) / (n_epoch * n_steps)
        alpha = 2.0 / (1.0 + np.exp(-10 * p)) - 1

        class_out, dom_s = net(x_s, alpha)
        _, dom_t = net(x_t, alpha)
        err_label = ce(class_out, y_s)
        err_dom = ce(dom_s, torch.zeros(len(x_s), dtype=torch.long)) + \
            ce(dom_t, torch.ones(len(x_t), dtype=torch.long))
        loss = err_label + err_dom

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    net.eval()
    with torch.no_grad():
        acc_t = (net(xt, 0.0)[0].argmax(1) == yt).float().mean().item()
    print(f"epoch {epoch} label {err_label.item():.3f} domain {err_dom.item():.3f} target acc {acc_t:.3f}")
