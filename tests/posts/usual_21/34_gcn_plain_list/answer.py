import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n_per_class=60, n_classes=3, n_feats=16, p_in=0.12, p_out=0.01, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n_classes).repeat_interleave(n_per_class)
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu(torch.rand(prob.shape, generator=g) < prob, diagonal=1)
    adj = (upper | upper.T).float()
    centers = torch.randn(n_classes, n_feats, generator=g)
    x = 0.4 * centers[y] + torch.randn(len(y), n_feats, generator=g)
    return x, adj, y


def normalize_adj(adj):
    adj = adj + torch.eye(adj.size(0))
    d = adj.sum(dim=1).rsqrt()
    return d[:, None] * adj * d[None, :]


class GCNLayer(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)

    def forward(self, x, adj):
        return adj @ self.linear(x)


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, n_classes, n_layers=2, dropout=0.5):
        super().__init__()
        dims = [in_dim] + [hidden] * n_layers
        self.layers = nn.ModuleList([GCNLayer(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self.out = nn.Linear(hidden, n_classes)
        self.dropout = dropout

    def forward(self, x, adj):
        for layer in self.layers:
            x = F.relu(layer(x, adj))
            x = F.dropout(x, self.dropout, training=self.training)
        return self.out(x)


def main():
    torch.manual_seed(0)
    x, adj, y = make_graph()
    adj = normalize_adj(adj)
    perm = torch.randperm(len(y))
    train_idx, test_idx = perm[:30], perm[30:]

    model = GCN(x.size(1), 32, 3)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    for epoch in range(100):
        model.train()
        optimizer.zero_grad()
        logits = model(x, adj)
        loss = F.cross_entropy(logits[train_idx], y[train_idx])
        loss.backward()
        optimizer.step()
        if epoch % 20 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(x, adj).argmax(dim=1)
            acc = (pred[test_idx] == y[test_idx]).float().mean().item()
            print(f"epoch {epoch}: loss {loss.item():.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
