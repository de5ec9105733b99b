import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score

N, COMMUNITIES = 240, 12


def make_graph(seed=0):
    g = np.random.default_rng(seed)
    community = g.integers(0, COMMUNITIES, N)
    p = np.where(community[:, None] == community[None, :], 0.22, 0.012)
    upper = np.triu(g.random((N, N)) < p, k=1)
    edges = torch.tensor(np.argwhere(upper))
    features = torch.tensor(g.normal(0, 1, (N, 16)), dtype=torch.float32)
    return edges, features


def normalised_adjacency(edges):
    a = torch.eye(N)
    a[edges[:, 0], edges[:, 1]] = 1.0
    a[edges[:, 1], edges[:, 0]] = 1.0
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


def sample_negatives(n, forbidden, g):
    out = []
    while len(out) < n:
        u, v = sorted(g.integers(0, N, 2).tolist())
        if u != v and (u, v) not in forbidden:
            out.append((u, v))
    return torch.tensor(out)


class GCNLinkPredictor(nn.Module):
    def __init__(self, n_in, hidden=32):
        super().__init__()
        self.node = nn.Embedding(N, 16)
        self.lin1 = nn.Linear(n_in + 16, hidden)
        self.lin2 = nn.Linear(hidden, hidden)

    def encode(self, x, adj):
        h = torch.cat([x, self.node.weight], dim=1)
        h = F.dropout(torch.relu(adj @ self.lin1(h)), 0.3, self.training)
        return adj @ self.lin2(h)

    def decode(self, h, pairs):
        return (h[pairs[:, 0]] * h[pairs[:, 1]]).sum(-1)


torch.manual_seed(0)
g = np.random.default_rng(1)
edges, x = make_graph()
edges = edges[torch.randperm(len(edges))]
n_test = len(edges) // 5
test_pos, train_pos = edges[:n_test], edges[n_test:]
known = {tuple(e) for e in edges.tolist()}
test_neg = sample_negatives(n_test, known, g)
adj = normalised_adjacency(train_pos)

model = GCNLinkPredictor(x.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
for epoch in range(1, 121):
    model.train()
    train_neg = sample_negatives(len(train_pos), known, g)
    h = model.encode(x, adj)
    logits = model.decode(h, torch.cat([train_pos, train_neg]))
    labels = torch.cat([torch.ones(len(train_pos)), torch.zeros(len(train_neg))])
    loss = F.binary_cross_entropy_with_logits(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            h = model.encode(x, adj)
            scores = torch.cat([model.decode(h, test_pos), model.decode(h, test_neg)])
        truth = np.r_[np.ones(n_test), np.zeros(n_test)]
        print(f"epoch {epoch}: loss {loss.item():.4f}  test AUC {roc_auc_score(truth, scores.numpy()):.4f}")
