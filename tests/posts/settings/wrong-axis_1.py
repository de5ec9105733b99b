# line 22: the gcn adjacency of a graph is divided along the wrong axis: sums of the rows (1-D) line up with the columns
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)


def make_graph(n=60):
    community = rng.integers(0, 3, n)
    same = community[:, None] == community[None]
    edges = rng.random((n, n)) < np.where(same, 0.3, 0.05)
    feats = rng.normal(size=(n, 12)) + np.eye(3)[community].repeat(4, axis=1)
    return edges.astype(np.float32), feats.astype(np.float32), community


def random_walk_operator(edges):
    a = torch.from_numpy(edges) + torch.eye(edges.shape[0])
    degree = torch.einsum("ij->i", a)
    return a / degree


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out)

    def forward(self, op, h):
        return torch.mm(op, self.lin(h))


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.g1, self.g2 = GraphConv(12, 16), GraphConv(16, 3)

    def forward(self, op, h):
        return self.g2(op, F.relu(self.g1(op, h)))


edges, feats, community = make_graph()
op = random_walk_operator(edges)
h, y = torch.from_numpy(feats), torch.from_numpy(community)
gcn = GCN()
opt = torch.optim.Adam(gcn.parameters(), lr=0.01, weight_decay=5e-4)
train = torch.arange(60) < 40
for step in range(60):
    opt.zero_grad()
    F.cross_entropy(gcn(op, h)[train], y[train]).backward()
    opt.step()
gcn.eval()
with torch.no_grad():
    print("test accuracy", (gcn(op, h)[~train].argmax(-1) == y[~train]).float().mean().item())
