import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


def normalized_adjacency(edge_index):
    """D^-1/2 (A + I) D^-1/2 as a sparse tensor"""
    num_nodes = int(edge_index.max()) + 1
    loops = torch.arange(num_nodes).repeat(2, 1)
    edges = torch.cat([edge_index, edge_index.flip(0), loops], dim=1)
    deg = torch.zeros(num_nodes).index_add_(0, edges[0], torch.ones(edges.size(1)))
    d_inv_sqrt = deg.pow(-0.5)
    weight = d_inv_sqrt[edges[0]] * d_inv_sqrt[edges[1]]
    return torch.sparse_coo_tensor(edges, weight, (num_nodes, num_nodes)).coalesce()


class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_dim, out_dim))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        support = x @ self.weight
        return torch.sparse.mm(adj, support) + self.bias


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, n_classes, dropout=0.5):
        super().__init__()
        self.conv1 = GraphConv(in_dim, hidden)
        self.conv2 = GraphConv(hidden, n_classes)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.conv1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return self.conv2(x, adj)


# small citation graph
N = 200
features = torch.randn(N, 32)
labels = torch.randint(0, 4, (N,))
src = torch.randint(0, 190, (600,))
dst = torch.randint(0, 190, (600,))
keep = src != dst
edge_index = torch.stack([src[keep], dst[keep]])

perm = torch.randperm(N)
train_mask = torch.zeros(N, dtype=torch.bool)
train_mask[perm[:120]] = True
test_mask = ~train_mask

adj = normalized_adjacency(edge_index)
model = GCN(32, 16, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(50):
    model.train()
    optimizer.zero_grad()
    out = model(features, adj)
    loss = F.cross_entropy(out[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()

    if epoch % 10 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(features, adj).argmax(1)
        acc = (pred[test_mask] == labels[test_mask]).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} test acc {acc:.3f}")
