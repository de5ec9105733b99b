# line 16: the model's layers are kept in a plain list, so parameters() is empty and the optimizer refuses; mended by: an nn.ModuleList for the layers
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset




class CrossNet(nn.Module):
    """Deep and cross style click model on dense counters."""

    def __init__(self, n_feat, depth):
        super(CrossNet, self).__init__()
        self.depth = depth
        self.crosses = nn.ModuleList()
        for i in range(depth):
            self.crosses.append(nn.Linear(n_feat, n_feat))
        self.final = lambda x: x.sum(dim=1)

    def forward(self, x0):
        x = x0
        for layer in self.crosses:
            x = x0 * layer(x) + x
        return self.final(x)


def click_log(n=512, n_feat=8, seed=99):
    g = torch.Generator().manual_seed(seed)
    counts = torch.poisson(torch.full((n, n_feat), 2.0), generator=g)
    x = torch.log1p(counts)
    logit = x[:, 0] * x[:, 1] - x[:, 2] * x[:, 3]
    y = torch.bernoulli(torch.sigmoid(logit), generator=g)
    x = (x - x.mean(0)) / x.std(0)
    return x, y


def auc(score, y):
    pos, neg = score[y == 1], score[y == 0]
    return (pos[:, None] > neg[None, :]).float().mean().item()


x, y = click_log()
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=50, shuffle=True)
model = CrossNet(x.size(1), depth=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for epoch in range(4):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print("epoch", epoch, "auc", round(auc(model(x[400:]), y[400:]), 3))
