import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n_nodes=300, n_classes=4, n_feats=32, p_in=0.06, p_out=0.005, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_classes, (n_nodes,), generator=g)
    same = y.unsqueeze(0) == y.unsqueeze(1)
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu(torch.rand(n_nodes, n_nodes, generator=g) < prob, diagonal=1).float()
    adj = upper + upper.t()
    centers = torch.randn(n_classes, n_feats, generator=g)
    x = 0.4 * centers[y] + torch.randn(n_nodes, n_feats, generator=g)
    return x, adj, y


def normalize_adj(adj):
    adj = adj + torch.eye(adj.size(0))
    d = adj.sum(dim=1).pow(-0.5)
    return d.unsqueeze(1) * adj * d.unsqueeze(0)


class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)

    def forward(self, x, adj):
        return adj @ self.linear(x)


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, n_classes, n_layers, dropout):
        super().__init__()
        dims = [in_dim] + [hidden] * n_layers
        self.convs = [GraphConv(a, b) for a, b in zip(dims[:-1], dims[1:])]
        self.out = nn.Linear(hidden, n_classes)
        self.dropout = dropout

    def forward(self, x, adj):
        for conv in self.convs:
            x = F.relu(conv(x, adj))
            x = F.dropout(x, p=self.dropout, training=self.training)
        return self.out(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=100)
    args = parser.parse_args()

    torch.manual_seed(0)
    x, adj, y = make_graph()
    adj = normalize_adj(adj)
    perm = torch.randperm(len(y))
    train_idx, test_idx = perm[:60], perm[60:]

    model = GCN(x.size(1), args.hidden, int(y.max()) + 1, args.layers, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)

    for epoch in range(1, args.epochs + 1):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, adj)[train_idx], y[train_idx])
        loss.backward()
        optimizer.step()
        if epoch % 20 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(x, adj).argmax(dim=1)
            acc = (pred[test_idx] == y[test_idx]).float().mean().item()
            print(f"epoch {epoch:3d} loss {loss.item():.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
