# Which catchment does a gauge station belong to? Two layer GCN after Kipf & Welling.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_STATIONS = 300
NUM_BASINS = 4
NUM_FEATURES = 12


def build_network(seed=13):
    rng = np.random.default_rng(seed)
    basin = rng.integers(0, NUM_BASINS, NUM_STATIONS)
    adj = np.zeros((NUM_STATIONS, NUM_STATIONS))
    for i in range(NUM_STATIONS):
        same = np.flatnonzero(basin == basin[i])
        for j in rng.choice(same, 3):
            adj[i, j] = adj[j, i] = 1
        if rng.random() < 0.8:
            j = rng.integers(NUM_STATIONS)
            adj[i, j] = adj[j, i] = 1
    centres = rng.normal(0, 1, (NUM_BASINS, NUM_FEATURES))
    feats = centres[basin] + rng.normal(0, 4.0, (NUM_STATIONS, NUM_FEATURES))
    return adj, feats, basin


def normalize_adj(adj):
    adj = adj + np.eye(len(adj))
    deg = adj.sum(1)
    d_inv_sqrt = np.diag(deg ** -0.5)
    return d_inv_sqrt @ adj @ d_inv_sqrt


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        support = torch.mm(x, self.weight)
        return torch.mm(adj, support) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


torch.manual_seed(13)
adj, feats, basin = build_network()
adj = torch.from_numpy(normalize_adj(adj))
features = torch.FloatTensor(feats)
labels = torch.LongTensor(basin)

perm = torch.randperm(NUM_STATIONS)
idx_train, idx_val, idx_test = perm[:80], perm[80:140], perm[140:]

model = GCN(NUM_FEATURES, 16, NUM_BASINS, dropout=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)


def accuracy(output, target):
    return (output.argmax(1) == target).float().mean().item()


for epoch in range(1, 101):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output[idx_train], labels)
    loss.backward()
    optimizer.step()

    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            output = model(features, adj)
        print(f"epoch {epoch:3d}  loss {loss.item():.3f}  val acc {accuracy(output[idx_val], labels[idx_val]):.3f}")

model.eval()
with torch.no_grad():
    for attempt in range(3):
        output = model(features, adj)
        print(f"test acc (pass {attempt}): {accuracy(output[idx_test], labels[idx_test]):.3f}")
