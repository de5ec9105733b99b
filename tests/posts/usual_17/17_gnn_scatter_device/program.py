import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def sbm_graph(n_per_class=60, n_classes=3, p_in=0.12, p_out=0.01, dim=16):
    n = n_per_class * n_classes
    y = torch.arange(n_classes).repeat_interleave(n_per_class)
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    adj = torch.rand(n, n) < prob
    adj = adj | adj.t()
    edge_index = adj.nonzero().t().contiguous()
    x = torch.randn(n, dim) + 0.4 * F.one_hot(y, dim).float()
    return x, edge_index, y


class SAGELayer(nn.Module):
    """h_i' = W1 h_i + W2 mean_j h_j, aggregation by index_add."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin_self = nn.Linear(d_in, d_out)
        self.lin_neigh = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        n = x.size(0)
        msg = x[src]
        agg = torch.zeros(n, x.size(1))
        agg = agg.index_add(0, dst, msg)
        deg = torch.bincount(dst, minlength=n).clamp(min=1).unsqueeze(1)
        return self.lin_self(x) + self.lin_neigh(agg / deg)


class GraphSAGE(nn.Module):
    def __init__(self, d_in, d_hid, n_classes, dropout=0.5):
        super().__init__()
        self.l1 = SAGELayer(d_in, d_hid)
        self.l2 = SAGELayer(d_hid, n_classes)
        self.dropout = dropout

    def forward(self, x, edge_index):
        h = F.relu(self.l1(x, edge_index))
        h = F.dropout(h, self.dropout, training=self.training)
        return self.l2(h, edge_index)


def main():
    x, edge_index, y = sbm_graph()
    perm = torch.randperm(len(y))
    train_idx, val_idx = perm[:60], perm[60:]
    x, edge_index, y = x.to(device), edge_index.to(device), y.to(device)
    train_idx, val_idx = train_idx.to(device), val_idx.to(device)

    model = GraphSAGE(x.size(1), 32, 3).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)

    best_val = 0
    for epoch in range(1, 61):
        model.train()
        optimizer.zero_grad()
        out = model(x, edge_index)
        loss = F.cross_entropy(out[train_idx], y[train_idx])
        loss.backward()
        optimizer.step()

        model.eval()
        with torch.no_grad():
            pred = model(x, edge_index).argmax(1)
            acc = (pred[val_idx] == y[val_idx]).float().mean().item()
        best_val = max(best_val, acc)
        if epoch % 20 == 0:
            print(f'Epoch {epoch:03d} loss {loss.item():.4f} val {acc:.3f} best {best_val:.3f}')


if __name__ == '__main__':
    main()
