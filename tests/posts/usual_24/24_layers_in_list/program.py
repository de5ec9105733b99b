import torch
import torch.nn as nn


def normalized_adjacency(edge_index, num_nodes):
    a = torch.eye(num_nodes)
    a[edge_index[0], edge_index[1]] = 1.0
    a[edge_index[1], edge_index[0]] = 1.0
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)

    def forward(self, x, adj):
        return adj @ self.linear(x)


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, num_classes, num_layers=3, dropout=0.3):
        super().__init__()
        dims = [in_dim] + [hidden] * (num_layers - 1)
        self.convs = [GraphConv(dims[i], dims[i + 1]) for i in range(num_layers - 1)]
        self.out = GraphConv(hidden, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, adj):
        for conv in self.convs:
            x = self.dropout(torch.relu(conv(x, adj)))
        return self.out(x, adj)


def make_graph(num_nodes=400, num_classes=4, feat_dim=32):
    y = torch.randint(0, num_classes, (num_nodes,))
    src = torch.randint(0, num_nodes, (6000,))
    dst = torch.randint(0, num_nodes, (6000,))
    keep = (y[src] == y[dst]) | (torch.rand(6000) < 0.15)
    x = torch.randn(num_nodes, feat_dim)
    x[torch.arange(num_nodes), y] += 0.7
    return x, torch.stack([src[keep], dst[keep]]), y


torch.manual_seed(0)
x, edge_index, y = make_graph()
adj = normalized_adjacency(edge_index, len(x))
perm = torch.randperm(len(x))
train_idx, test_idx = perm[:80], perm[80:]

model = GCN(in_dim=32, hidden=64, num_classes=4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
loss_fn = nn.CrossEntropyLoss()
print("parameters:", sum(p.numel() for p in model.parameters()))

for epoch in range(1, 61):
    model.train()
    optimizer.zero_grad()
    loss = loss_fn(model(x, adj)[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(x, adj)[test_idx].argmax(1) == y[test_idx]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, test acc {acc:.3f}")
