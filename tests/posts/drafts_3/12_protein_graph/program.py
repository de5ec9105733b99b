import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import f1_score

N_PROTEINS = 300
N_FEATURES = 24
N_FUNCTIONS = 6


def load_graph(seed=11):
    g = torch.Generator().manual_seed(seed)
    labels = (torch.rand(N_PROTEINS, N_FUNCTIONS, generator=g) < 0.3).float()
    mix = torch.randn(N_FUNCTIONS, N_FEATURES, generator=g)
    x = labels @ mix + 1.5 * torch.randn(N_PROTEINS, N_FEATURES, generator=g)

    overlap = labels @ labels.t()
    prob = torch.sigmoid(2 * overlap - 6)
    upper = torch.triu(torch.rand(N_PROTEINS, N_PROTEINS, generator=g) < prob, diagonal=1)
    src, dst = upper.nonzero(as_tuple=True)

    adj = torch.zeros(N_PROTEINS, N_PROTEINS, dtype=torch.long)
    adj[src, dst] = 1
    adj[dst, src] = 1
    adj.fill_diagonal_(1)

    perm = torch.randperm(N_PROTEINS, generator=g)
    train_mask = torch.zeros(N_PROTEINS, dtype=torch.bool)
    train_mask[perm[:200]] = True
    test_mask = ~train_mask
    return x, adj, labels, train_mask, test_mask


class GraphConv(nn.Module):
    """Mean over the neighbours, then a linear map."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.lin_self = nn.Linear(in_features, out_features)
        self.lin_neigh = nn.Linear(in_features, out_features, bias=False)

    def forward(self, x, adj):
        degree = adj.sum(dim=1, keepdim=True)
        neigh = adj @ x / degree
        return self.lin_self(x) + self.lin_neigh(neigh)


class ProteinNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.conv1 = GraphConv(N_FEATURES, hidden)
        self.conv2 = GraphConv(hidden, N_FUNCTIONS)

    def forward(self, x, adj):
        h = F.relu(self.conv1(x, adj))
        h = F.dropout(h, p=0.5, training=self.training)
        return self.conv2(h, adj)


def main():
    torch.manual_seed(0)
    x, adj, labels, train_mask, test_mask = load_graph()
    model = ProteinNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    for epoch in range(1, 101):
        model.train()
        optimizer.zero_grad()
        logits = model(x, adj)
        loss = F.binary_cross_entropy_with_logits(logits, labels)
        loss.backward()
        optimizer.step()

        if epoch % 25 == 0:
            model.eval()
            with torch.no_grad():
                pred = (model(x, adj) > 0).float()
            train_f1 = f1_score(labels[train_mask].numpy(), pred[train_mask].numpy(), average="micro")
            test_f1 = f1_score(labels[test_mask].numpy(), pred[test_mask].numpy(), average="micro")
            print(f"epoch {epoch:3d} loss {loss.item():.4f} train F1 {train_f1:.3f} test F1 {test_f1:.3f}")


if __name__ == "__main__":
    main()
