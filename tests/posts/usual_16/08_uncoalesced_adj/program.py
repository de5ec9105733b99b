import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# Semi-supervised node classification on a planted-partition graph, GCN by hand

torch.manual_seed(0)
rng = np.random.default_rng(0)


def planted_partition(n=300, k=3, p_in=0.06, p_out=0.004, dim=16):
    y = rng.integers(0, k, n)
    prob = np.where(y[:, None] == y[None, :], p_in, p_out)
    upper = np.triu(rng.random((n, n)) < prob, k=1)
    src, dst = np.nonzero(upper)
    x = rng.normal(size=(n, dim)) + 0.4 * np.eye(k, dim)[y]
    return (
        torch.from_numpy(np.stack([src, dst])),
        torch.from_numpy(x).float(),
        torch.from_numpy(y),
    )


def normalised_adjacency(edge_index, n):
    """D^-1/2 (A + A^T + I) D^-1/2"""
    adj = torch.sparse_coo_tensor(edge_index, torch.ones(edge_index.size(1)), (n, n))
    loops = torch.arange(n)
    eye = torch.sparse_coo_tensor(torch.stack([loops, loops]), torch.ones(n), (n, n))
    adj = adj + adj.t() + eye
    deg = torch.sparse.sum(adj, dim=1).to_dense()
    inv_sqrt = deg.pow(-0.5)
    row, col = adj.indices()
    val = inv_sqrt[row] * adj.values() * inv_sqrt[col]
    return torch.sparse_coo_tensor(torch.stack([row, col]), val, (n, n)).to_sparse_csr()


class GCNConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(d_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, d_in, hidden, n_classes, dropout=0.5):
        super().__init__()
        self.conv1 = GCNConv(d_in, hidden)
        self.conv2 = GCNConv(hidden, n_classes)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        h = F.relu(self.conv1(x, adj))
        h = F.dropout(h, self.dropout, training=self.training)
        return self.conv2(h, adj)


edge_index, x, y = planted_partition()
n = x.size(0)
perm = torch.randperm(n)
train_idx, val_idx, test_idx = perm[:30], perm[30:100], perm[100:]

adj = normalised_adjacency(edge_index, n)
model = GCN(x.size(1), 32, int(y.max()) + 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

best_val, test_at_best = 0.0, 0.0
for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, adj)[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(x, adj).argmax(dim=1)
    val = (pred[val_idx] == y[val_idx]).float().mean().item()
    if val > best_val:
        best_val = val
        test_at_best = (pred[test_idx] == y[test_idx]).float().mean().item()
    if epoch % 20 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.3f} val {val:.3f}")

print(f"best val {best_val:.3f}, test {test_at_best:.3f}")
