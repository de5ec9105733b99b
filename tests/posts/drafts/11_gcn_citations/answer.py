# Node classification on a small citation graph
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
rng = np.random.default_rng(5)

num_nodes, num_feats, num_classes = 300, 50, 4

labels_np = rng.integers(0, num_classes, num_nodes)
same = labels_np[:, None] == labels_np[None, :]
prob = np.where(same, 0.05, 0.005)
adj = (rng.random((num_nodes, num_nodes)) < prob).astype(np.float64)
adj = np.maximum(adj, adj.T)
np.fill_diagonal(adj, 0)

features = torch.randn(num_nodes, num_feats)
features[torch.arange(num_nodes), torch.from_numpy(labels_np)] += 1.0
labels = torch.from_numpy(labels_np).long()

perm = torch.randperm(num_nodes)
train_mask = torch.zeros(num_nodes, dtype=torch.bool)
test_mask = torch.zeros(num_nodes, dtype=torch.bool)
train_mask[perm[:60]] = True
test_mask[perm[100:]] = True


def normalize(a):
    a = a + np.eye(a.shape[0])
    d_inv_sqrt = np.diag(a.sum(axis=1) ** -0.5)
    return torch.from_numpy(d_inv_sqrt @ a @ d_inv_sqrt).float()


class GraphConv(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj_norm):
        support = x @ self.weight
        return adj_norm @ support + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout=0.5):
        super().__init__()
        self.gc1 = GraphConv(nfeat, nhid)
        self.gc2 = GraphConv(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj_norm):
        x = F.relu(self.gc1(x, adj_norm))
        x = F.dropout(x, self.dropout, training=self.training)
        return self.gc2(x, adj_norm)


adj_norm = normalize(adj)
model = GCN(num_feats, 16, num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    out = model(features, adj_norm)
    loss = F.cross_entropy(out[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()

    if (epoch + 1) % 25 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(features, adj_norm).argmax(dim=1)
        acc = (pred[test_mask] == labels[test_mask]).float().mean().item()
        print(f"Epoch {epoch + 1:03d}, loss {loss.item():.4f}, test acc {acc:.4f}")
