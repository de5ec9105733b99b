"""Two-layer GCN written from scratch (no PyG) on a stochastic block model graph."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def block_model(n_per_block, n_blocks, p_in, p_out, n_feats, gen):
    n = n_per_block * n_blocks
    y = torch.arange(n_blocks).repeat_interleave(n_per_block)
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu(torch.rand(n, n, generator=gen) < prob, diagonal=1)
    src, dst = upper.nonzero(as_tuple=True)
    edge_index = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    x = torch.randn(n, n_feats, generator=gen)
    x[torch.arange(n), y] += 0.8
    return x, y, edge_index


def add_self_loops(edge_index, n):
    loops = torch.arange(n, device=edge_index.device).expand(2, n)
    return torch.cat([edge_index, loops], dim=1)


def gcn_norm(edge_index, n):
    src, dst = edge_index
    deg = torch.zeros(n, device=edge_index.device)
    deg.index_add_(0, dst, torch.ones_like(dst, dtype=deg.dtype))
    inv_sqrt = deg.clamp(min=1).pow(-0.5)
    return inv_sqrt[src] * inv_sqrt[dst]


class GCNLayer(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x, edge_index, norm):
        src, dst = edge_index
        h = self.lin(x)
        out = torch.zeros_like(h)
        out = out.index_add(0, dst, h[src] * norm.unsqueeze(1))
        return out + self.bias


class GCN(nn.Module):
    def __init__(self, d_in, d_hidden, n_classes, dropout):
        super().__init__()
        self.conv1 = GCNLayer(d_in, d_hidden)
        self.conv2 = GCNLayer(d_hidden, n_classes)
        self.dropout = dropout

    def forward(self, x, edge_index, norm):
        x = F.dropout(x, self.dropout, self.training)
        x = F.relu(self.conv1(x, edge_index, norm))
        x = F.dropout(x, self.dropout, self.training)
        return self.conv2(x, edge_index, norm)


def main(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x, y, edge_index = block_model(80, 4, 0.08, 0.012, 16, gen)
    n = x.size(0)
    edge_index = add_self_loops(edge_index, n)
    norm = gcn_norm(edge_index, n)

    perm = torch.randperm(n, generator=gen)
    train_idx, val_idx, test_idx = perm[:40], perm[40:120], perm[120:]

    model = GCN(x.size(1), args.hidden, 4, args.dropout)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best_val = best_test = 0.0
    for epoch in range(1, args.epochs + 1):
        model.train()
        loss = F.cross_entropy(model(x, edge_index, norm)[train_idx], y[train_idx])
        opt.zero_grad()
        loss.backward()
        opt.step()

        model.eval()
        with torch.no_grad():
            pred = model(x, edge_index, norm).argmax(dim=1)
        val = (pred[val_idx] == y[val_idx]).float().mean().item()
        if val > best_val:
            best_val = val
            best_test = (pred[test_idx] == y[test_idx]).float().mean().item()
        if epoch % 40 == 0:
            print(f"{epoch:4d} loss {loss.item():.3f} val {best_val:.3f} test {best_test:.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=120)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--dropout", type=float, default=0.4)
    p.add_argument("--seed", type=int, default=0)
    main(p.parse_args())
