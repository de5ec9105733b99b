"""R-GCN for entity classification on a small random knowledge graph."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class RelGraphConv(nn.Module):
    def __init__(self, in_feat, out_feat, num_rels, num_bases, activation=None, dropout=0.0):
        super().__init__()
        self.num_rels = num_rels
        self.bases = nn.Parameter(torch.empty(num_bases, in_feat, out_feat))
        self.w_comp = nn.Parameter(torch.empty(num_rels, num_bases))
        self.self_loop = nn.Parameter(torch.empty(in_feat, out_feat))
        self.bias = nn.Parameter(torch.zeros(out_feat))
        self.activation = activation
        self.dropout = nn.Dropout(dropout)
        for p in (self.bases, self.w_comp, self.self_loop):
            nn.init.xavier_uniform_(p)

    def forward(self, x, src, dst, etype, norm):
        weight = torch.einsum("rb,bio->rio", self.w_comp, self.bases)
        msg = torch.bmm(x[src].unsqueeze(1), weight[etype]).squeeze(1) * norm
        out = torch.zeros(x.size(0), msg.size(1)).index_add_(0, dst, msg)
        out = out + x @ self.self_loop + self.bias
        if self.activation is not None:
            out = self.activation(out)
        return self.dropout(out)


class EntityClassify(nn.Module):
    def __init__(self, num_nodes, h_dim, out_dim, num_rels, num_bases, num_hidden=1, dropout=0.0):
        super().__init__()
        self.embed = nn.Embedding(num_nodes, h_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_hidden):
            self.layers.append(RelGraphConv(h_dim, h_dim, num_rels, num_bases,
                                            activation=F.relu, dropout=dropout))
        self.layers.append(RelGraphConv(h_dim, out_dim, num_rels, num_bases,
                                        activation=None))

    def forward(self, g):
        h = self.embed.weight
        for layer in self.layers:
            h = layer(h, *g)
        return h


def build_graph(num_nodes, num_rels, num_classes, num_edges):
    labels = torch.randint(0, num_classes, (num_nodes,))
    src = torch.randint(0, num_nodes, (num_edges,))
    dst = torch.randint(0, num_nodes, (num_edges,))
    etype = (labels[src] * 2 + labels[dst] + torch.randint(0, 2, (num_edges,))) % num_rels
    deg = torch.zeros(num_nodes).index_add_(0, dst, torch.ones(num_edges))
    norm = (1.0 / deg.clamp(min=1))[dst].unsqueeze(1)
    return (src, dst, etype, norm), labels


def main(args):
    torch.manual_seed(args.seed)
    g, labels = build_graph(400, 6, 4, 6000)
    idx = torch.randperm(400)
    train_idx, val_idx, test_idx = idx[:140], idx[140:200], idx[200:]

    model = EntityClassify(400, args.n_hidden, 4, 6, args.n_bases, dropout=args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.l2norm)

    for epoch in range(args.n_epochs):
        model.train()
        optimizer.zero_grad()
        logits = model(g)
        loss = F.cross_entropy(logits[train_idx], labels[train_idx])
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            train_acc = (logits[train_idx].argmax(1) == labels[train_idx]).float().mean()
            val_acc = (logits[val_idx].argmax(1) == labels[val_idx]).float().mean()
            print(f"Epoch {epoch:03d} | train acc {train_acc:.4f} loss {loss.item():.4f} | val acc {val_acc:.4f}")

    model.eval()
    with torch.no_grad():
        logits = model(g)
        test_loss = F.cross_entropy(logits[test_idx], labels[test_idx])
        test_acc = (logits[test_idx].argmax(1) == labels[test_idx]).float().mean()
    print(f"Test acc {test_acc:.4f} loss {test_loss.item():.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--n-hidden", type=int, default=16)
    p.add_argument("--n-bases", type=int, default=3)
    p.add_argument("--n-epochs", type=int, default=50)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--l2norm", type=float, default=5e-4)
    main(p.parse_args())
