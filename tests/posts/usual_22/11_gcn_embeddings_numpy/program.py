import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.decomposition import PCA


def build_graph(n_per_block=30, n_blocks=3, p_in=0.3, p_out=0.02):
    n = n_per_block * n_blocks
    labels = torch.arange(n_blocks).repeat_interleave(n_per_block)
    same = labels[:, None] == labels[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu(torch.bernoulli(prob), diagonal=1)
    return upper + upper.t(), labels


def normalize_adj(adj):
    adj = adj + torch.eye(adj.size(0))
    d = adj.sum(1).pow(-0.5)
    return d[:, None] * adj * d[None, :]


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, n_classes):
        super().__init__()
        self.w1 = nn.Linear(in_dim, hidden)
        self.w2 = nn.Linear(hidden, n_classes)

    def embed(self, x, adj):
        return F.relu(adj @ self.w1(x))

    def forward(self, x, adj):
        h = F.dropout(self.embed(x, adj), 0.5, training=self.training)
        return adj @ self.w2(h)


torch.manual_seed(0)
adj, labels = build_graph()
adj = normalize_adj(adj)
x = torch.eye(adj.size(0))

perm = torch.randperm(len(labels))
train_idx, test_idx = perm[:30], perm[30:]

model = GCN(x.size(1), 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.cross_entropy(out[train_idx], labels[train_idx])
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    pred = model(x, adj).argmax(dim=1)
print("test accuracy:", (pred[test_idx] == labels[test_idx]).float().mean().item())

embeddings = model.embed(x, adj)
points = PCA(n_components=2).fit_transform(embeddings.numpy())
for c in range(3):
    print("block", c, "center", points[labels.numpy() == c].mean(axis=0).round(3))
