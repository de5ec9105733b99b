"""Graph classification without PyG: rings or stars."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ToyGraphs(Dataset):
    """Rings (class 0) against stars (class 1); one random feature per node."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.graphs = []
        for _ in range(n):
            k = int(rng.integers(6, 14))
            y = int(rng.integers(0, 2))
            if y == 0:
                src = np.arange(k)
                dst = (src + 1) % k
            else:
                src = np.zeros(k - 1, dtype=int)
                dst = np.arange(1, k)
            perm = rng.permutation(k)
            src, dst = perm[src], perm[dst]
            edge_index = torch.tensor(np.stack([np.r_[src, dst], np.r_[dst, src]]), dtype=torch.long)
            self.graphs.append((torch.tensor(rng.normal(1, 0.1, (k, 1)), dtype=torch.float32), edge_index, y))

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, i):
        return self.graphs[i]


def collate_graphs(items):
    xs, edges, batch, ys = [], [], [], []
    offset = 0
    for gid, (x, edge_index, y) in enumerate(items):
        xs.append(x)
        edges.append(edge_index + offset)
        offset += x.size(0)
        batch.append(torch.full((x.size(0),), gid, dtype=torch.long))
        ys.append(y)
    return torch.cat(xs), torch.cat(edges, dim=1), torch.cat(batch), torch.tensor(ys)


class GINLayer(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(d_in, d_out), nn.ReLU(), nn.Linear(d_out, d_out))

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add(0, dst, x[src])
        return self.mlp((1 + self.eps) * x + agg)


class GIN(nn.Module):
    def __init__(self, hidden=32, n_classes=2):
        super().__init__()
        self.conv1 = GINLayer(1, hidden)
        self.conv2 = GINLayer(hidden, hidden)
        self.lin = nn.Linear(hidden, n_classes)

    def forward(self, x, edge_index, batch, n_graphs):
        x = F.relu(self.conv1(x, edge_index))
        x = F.relu(self.conv2(x, edge_index))
        pooled = x.new_zeros(n_graphs, x.size(1)).index_add(0, batch, x)
        counts = torch.bincount(batch, minlength=n_graphs).clamp(min=1).unsqueeze(1)
        return self.lin(pooled / counts)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(ToyGraphs(400, 0), batch_size=32, shuffle=True, collate_fn=collate_graphs)
    test_loader = DataLoader(ToyGraphs(128, 1), batch_size=32, collate_fn=collate_graphs)
    model = GIN()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 13):
        model.train()
        total = 0.0
        for x, edge_index, batch, y in train_loader:
            loss = F.cross_entropy(model(x, edge_index, batch, len(y)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        model.eval()
        hits = 0
        with torch.no_grad():
            for x, edge_index, batch, y in test_loader:
                hits += (model(x, edge_index, batch, len(y)).argmax(1) == y).sum().item()
        if epoch % 3 == 0:
            print(f"epoch {epoch} loss {total / len(train_loader.dataset):.4f} test acc {hits / len(test_loader.dataset):.3f}")


if __name__ == "__main__":
    main()
