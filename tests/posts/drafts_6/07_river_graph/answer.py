# %% River stations: which kind of bed (sand, gravel, rock) does a station have?
# Stations are nodes, an edge goes from a station to the next one downstream and back.
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(9)
torch.manual_seed(9)

# %% tables
n = 300
bed = np.zeros(n, dtype=int)
edges = []
for i in range(1, n):
    parent = int(rng.integers(max(0, i - 8), i))
    bed[i] = bed[parent] if rng.random() < 0.8 else rng.integers(0, 3)
    edges.append((i, parent))
    edges.append((parent, i))

stations = pd.DataFrame({
    "slope": 0.3 * bed + rng.normal(0, 0.6, n),
    "width": rng.normal(0, 1, n) - 0.3 * bed,
    "depth": rng.normal(0, 1, n),
    "speed": 0.4 * bed + rng.normal(0, 0.8, n),
    "bed": bed,
})
links = pd.DataFrame(edges, columns=["from", "to"])
print(stations.head())

# %% tensors
x = torch.tensor(stations[["slope", "width", "depth", "speed"]].values, dtype=torch.float32)
y = torch.tensor(stations["bed"].values)
edge_index = torch.tensor(links.values).t()

order = rng.permutation(n)
train_mask = torch.zeros(n, dtype=torch.bool)
test_mask = torch.zeros(n, dtype=torch.bool)
train_mask[order[:200]] = 1
test_mask[order[200:]] = 1
print("train", train_mask.sum().item(), "test", test_mask.sum().item())


# %% model
class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.self_lin = nn.Linear(in_dim, out_dim)
        self.neigh_lin = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        degree = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(dst.size(0)))
        agg = agg / degree.clamp(min=1).unsqueeze(1)
        return self.self_lin(x) + self.neigh_lin(agg)


class RiverGNN(nn.Module):
    def __init__(self, in_dim, hidden, out_dim):
        super().__init__()
        self.conv1 = GraphConv(in_dim, hidden)
        self.conv2 = GraphConv(hidden, out_dim)

    def forward(self, x, edge_index):
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.3, training=self.training)
        return self.conv2(x, edge_index)


model = RiverGNN(4, 32, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

# %% training
for epoch in range(1, 101):
    model.train()
    optimizer.zero_grad()
    out = model(x, edge_index)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()

    if epoch % 25 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(x, edge_index).argmax(1)
        acc = (pred[test_mask] == y[test_mask]).float().mean().item()
        print(f"epoch {epoch:3d} loss {loss.item():.3f} test acc {acc:.3f}")
