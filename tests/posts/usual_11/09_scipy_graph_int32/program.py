"""GraphSAGE on a co-purchase graph, plain PyTorch (no PyG)."""
import numpy as np
import scipy.sparse as sp
import torch
import torch.nn as nn
import torch.nn.functional as F


def synthetic_copurchase(n=400, classes=4, feat=32, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    same = y[:, None] == y[None, :]
    prob = np.where(same, 0.04, 0.004)
    upper = np.triu(rng.random((n, n)) < prob, 1)
    adj = sp.coo_matrix((upper | upper.T).astype(np.float32))
    x = rng.normal(size=(n, feat)).astype(np.float32)
    x[np.arange(n), y] += 1.5
    return adj, x, y


def load_data(path="copurchase.npz"):
    adj, x, y = synthetic_copurchase()
    sp.save_npz(path, adj)
    adj = sp.load_npz(path).tocoo()
    edge_index = torch.from_numpy(np.vstack([adj.row, adj.col]))
    idx = np.random.default_rng(1).permutation(len(y))
    masks = {}
    for name, part in zip(("train", "val", "test"), np.split(idx, [120, 200])):
        m = torch.zeros(len(y), dtype=torch.bool)
        m[torch.from_numpy(part)] = True
        masks[name] = m
    return edge_index, torch.from_numpy(x), torch.from_numpy(y), masks


def scatter_mean(src, index, dim_size):
    out = src.new_zeros(dim_size, src.size(1))
    count = src.new_zeros(dim_size)
    out.scatter_add_(0, index.unsqueeze(-1).expand_as(src), src)
    count.scatter_add_(0, index, torch.ones_like(index, dtype=src.dtype))
    return out / count.clamp(min=1).unsqueeze(-1)


class SAGEConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.lin_self = nn.Linear(in_dim, out_dim)
        self.lin_neigh = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        messages = x[src]
        agg = scatter_mean(messages, dst, x.size(0))
        return self.lin_self(x) + self.lin_neigh(agg)


class GraphSAGE(nn.Module):
    def __init__(self, in_dim, hidden, classes, dropout=0.5):
        super().__init__()
        self.conv1 = SAGEConv(in_dim, hidden)
        self.conv2 = SAGEConv(hidden, classes)
        self.dropout = dropout

    def forward(self, x, edge_index):
        h = F.relu(self.conv1(x, edge_index))
        h = F.dropout(h, self.dropout, training=self.training)
        return self.conv2(h, edge_index)


def train_step(model, opt, x, edge_index, y, mask):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(x, edge_index)[mask], y[mask])
    loss.backward()
    opt.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, x, edge_index, y, masks):
    model.eval()
    pred = model(x, edge_index).argmax(1)
    return {k: (pred[m] == y[m]).float().mean().item() for k, m in masks.items()}


if __name__ == "__main__":
    torch.manual_seed(0)
    edge_index, x, y, masks = load_data()
    print("nodes", x.size(0), "edges", edge_index.size(1))
    model = GraphSAGE(x.size(1), 64, int(y.max()) + 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best_val, best_test = 0.0, 0.0
    for epoch in range(40):
        loss = train_step(model, opt, x, edge_index, y, masks["train"])
        acc = accuracy(model, x, edge_index, y, masks)
        if acc["val"] > best_val:
            best_val, best_test = acc["val"], acc["test"]
        if epoch % 10 == 0:
            print(f"{epoch:3d} loss {loss:.3f} val {acc['val']:.3f}")
    print(f"test accuracy at best val: {best_test:.3f}")
