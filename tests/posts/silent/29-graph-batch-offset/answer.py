import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class RandomGraphs(Dataset):
    """Classify rings against stars."""

    def __init__(self, n=200):
        self.graphs = []
        for i in range(n):
            k = int(torch.randint(5, 12, (1,)))
            nodes = torch.arange(k)
            if i % 2 == 0:
                edges = torch.stack([nodes, (nodes + 1) % k])
            else:
                edges = torch.stack([torch.zeros(k - 1, dtype=torch.long), nodes[1:]])
            edges = torch.cat([edges, edges.flip(0)], dim=1)
            self.graphs.append((torch.randn(k, 4), edges, i % 2))

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, i):
        return self.graphs[i]


def collate(graphs):
    xs, edges, batch, ys = [], [], [], []
    offset = 0
    for i, (x, edge_index, y) in enumerate(graphs):
        xs.append(x)
        edges.append(edge_index + offset)
        batch.append(torch.full((x.size(0),), i))
        ys.append(y)
        offset += x.size(0)
    return torch.cat(xs), torch.cat(edges, dim=1), torch.cat(batch), torch.tensor(ys)


class SAGEConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.self_lin = nn.Linear(cin, cout)
        self.nbr_lin = nn.Linear(cin, cout, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        return self.self_lin(x) + self.nbr_lin(agg)


class GNN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.conv1 = SAGEConv(4, hidden)
        self.conv2 = SAGEConv(hidden, hidden)
        self.lin = nn.Linear(hidden, 2)

    def forward(self, x, edge_index, batch, n_graphs):
        h = torch.relu(self.conv1(x, edge_index))
        h = torch.relu(self.conv2(h, edge_index))
        pooled = torch.zeros(n_graphs, h.size(1)).index_add_(0, batch, h)
        counts = torch.bincount(batch, minlength=n_graphs).unsqueeze(1)
        return self.lin(pooled / counts)


torch.manual_seed(0)
loader = DataLoader(RandomGraphs(), batch_size=20, shuffle=True, collate_fn=collate)
model = GNN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    correct = 0
    for x, edge_index, batch, y in loader:
        out = model(x, edge_index, batch, len(y))
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} acc {correct / 200:.3f}")
