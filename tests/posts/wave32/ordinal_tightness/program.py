import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def spread_term(centers, values):
    """Push the centres of distant targets apart (mean over the pairs of the weighted distance)."""
    p = F.normalize(centers, dim=1)
    dist = torch.cdist(p, p)
    weight = (values[:, None] - values[None, :]).abs()
    weight = weight / weight.max()
    upper = torch.triu(torch.ones_like(dist), diagonal=1).bool()
    return -(dist[upper] * weight[upper]).mean()


def ordinal_entropy(features, target):
    """
    features: N x C, target: N
    tightness: the mean over the samples of the L2 distance between a feature and the centre of its target
    """
    values, index = torch.unique(target, return_inverse=True)
    onehot = F.one_hot(index, len(values)).float()
    centers = onehot.t() @ features / onehot.sum(0).unsqueeze(1)

    diff = F.normalize(features, dim=1) - F.normalize(centers, dim=1)[index]
    tight = torch.mean(diff.pow(2), dim=1)
    tight = tight[tight > 0].mean()
    return spread_term(centers, values), tight


class Regressor(nn.Module):
    def __init__(self, d_in=20, width=100):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(d_in, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
        )
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        z = self.encoder(x)
        return self.head(z).squeeze(1), z


rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.normal(size=(1200, 20)).astype("float32")
w = rng.normal(size=20)
y = np.round(np.tanh(X @ w / 4) * 5) / 5
X = torch.from_numpy(X)
y = torch.from_numpy(y.astype("float32"))
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]

net = Regressor()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
lambda_d, lambda_t = 1e-2, 1e-2
batch = 100

for epoch in range(15):
    net.train()
    perm = torch.randperm(len(X_train))
    log = np.zeros(3)
    for i in range(0, len(perm), batch):
        idx = perm[i:i + batch]
        out, z = net(X_train[idx])
        mse = F.mse_loss(out, y_train[idx])
        l_d, l_t = ordinal_entropy(z, y_train[idx])
        loss = mse + lambda_d * l_d + lambda_t * l_t
        opt.zero_grad()
        loss.backward()
        opt.step()
        log += [mse.item(), l_d.item(), l_t.item()]
    log /= len(perm) // batch
    net.eval()
    with torch.no_grad():
        test = F.mse_loss(net(X_test)[0], y_test).item()
    print(f"{epoch:2d} mse {log[0]:.4f} spread {log[1]:.4f} tight {log[2]:.4f} | test {test:.4f}")
