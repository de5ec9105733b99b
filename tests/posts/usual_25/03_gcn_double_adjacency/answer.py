import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def load_graph(num_nodes, num_feats, num_classes, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, num_classes, num_nodes)
    same = labels[:, None] == labels[None, :]
    prob = np.where(same, 0.08, 0.01)
    adj = (rng.rand(num_nodes, num_nodes) < prob).astype(float)
    adj = np.maximum(adj, adj.T)
    np.fill_diagonal(adj, 1.0)
    deg = adj.sum(1)
    d_inv_sqrt = np.diag(1.0 / np.sqrt(deg))
    adj = d_inv_sqrt @ adj @ d_inv_sqrt
    features = rng.randn(num_nodes, num_feats) + np.eye(num_classes, num_feats)[labels]
    return torch.from_numpy(adj).float(), torch.FloatTensor(features), torch.LongTensor(labels)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        support = torch.mm(x, self.weight)
        output = torch.mm(adj, support)
        return output + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    adj, features, labels = load_graph(300, 20, 4, args.seed)
    idx_train, idx_test = torch.arange(0, 100), torch.arange(100, 300)

    model = GCN(features.shape[1], args.hidden, 4, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)

    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        output = model(features, adj)
        loss = F.nll_loss(output[idx_train], labels[idx_train])
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        pred = model(features, adj)[idx_test].argmax(1)
    print("test accuracy: {:.3f}".format((pred == labels[idx_test]).float().mean().item()))


if __name__ == "__main__":
    main()
