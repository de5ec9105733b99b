import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def block_graph(n_nodes, n_groups, p_in, p_out, n_feats, seed):
    """Stochastic block model: adjacency, bag-of-words features and groups."""
    g = torch.Generator().manual_seed(seed)
    group = torch.arange(n_nodes) % n_groups
    same = group[:, None] == group[None, :]
    prob = torch.where(same, p_in, p_out)
    upper = torch.triu((torch.rand(n_nodes, n_nodes, generator=g) < prob).float(), diagonal=1)
    adj = upper + upper.T
    centres = torch.randn(n_groups, n_feats, generator=g)
    feats = centres[group] + 2.0 * torch.randn(n_nodes, n_feats, generator=g)
    return adj, feats, group


def normalized(adj):
    adj = adj + torch.eye(adj.shape[0])
    d = adj.sum(1).rsqrt()
    return d[:, None] * adj * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out)

    def forward(self, x, a_hat):
        return a_hat @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, d_in, hidden, n_classes, dropout):
        super().__init__()
        self.conv1 = GraphConv(d_in, hidden)
        self.conv2 = GraphConv(hidden, hidden)
        self.conv3 = GraphConv(hidden, n_classes)
        self.dropout = dropout

    def forward(self, x, a_hat):
        x = F.relu(self.conv1(x, a_hat))
        x = F.relu(self.conv2(x, a_hat))
        x = F.dropout(x, p=self.dropout, training=self.training)
        return self.conv3(x, a_hat)


def train_step(model, data, mask, optimizer):
    feats, a_hat, group = data
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(feats, a_hat)[mask], group[mask])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def test(model, data, masks):
    feats, a_hat, group = data
    model.eval()
    pred = model(feats, a_hat).argmax(dim=1)
    return {name: (pred[m] == group[m]).float().mean().item() for name, m in masks.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.6)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args()

    torch.manual_seed(19)
    adj, feats, group = block_graph(300, 5, 0.06, 0.02, 24, seed=19)
    data = feats, normalized(adj), group
    order = torch.randperm(300)
    masks = {}
    for name, chosen in zip(["train", "val", "test"], order.split([100, 80, 120])):
        masks[name] = torch.zeros(300, dtype=torch.bool)
        masks[name][chosen] = True

    model = GCN(24, args.hidden, 5, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    for epoch in range(1, args.epochs + 1):
        loss = train_step(model, data, masks["train"], optimizer)
        if epoch % 15 == 0:
            print(epoch, f"{loss:.3f}", {k: round(v, 3) for k, v in test(model, data, masks).items()})
    repeated = [test(model, data, masks)["test"] for _ in range(4)]
    print("test accuracy of the final model, measured four times:", [round(a, 3) for a in repeated])


if __name__ == "__main__":
    main()
