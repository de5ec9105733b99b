import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(31)

num_nodes, num_feats, num_classes = 300, 16, 3
y = torch.randint(0, num_classes, (num_nodes,))
feats = torch.randn(num_nodes, num_feats) + F.one_hot(y, num_feats).float()
same = y.unsqueeze(0) == y.unsqueeze(1)
edge_prob = torch.where(same, 0.03, 0.008)
upper = torch.triu(torch.rand(num_nodes, num_nodes) < edge_prob, diagonal=1).float()
adj = upper + upper.t() + torch.eye(num_nodes)
deg_inv_sqrt = adj.sum(1).pow(-0.5)
adj_norm = deg_inv_sqrt.unsqueeze(1) * adj * deg_inv_sqrt.unsqueeze(0)

perm = torch.randperm(num_nodes)
train_idx, test_idx = perm[:60], perm[60:]


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, out_dim, p=0.6):
        super().__init__()
        self.w1 = nn.Linear(in_dim, hidden)
        self.w2 = nn.Linear(hidden, out_dim)
        self.p = p

    def forward(self, x, a):
        h = F.relu(a @ self.w1(x))
        h = F.dropout(h, self.p)
        return a @ self.w2(h)


model = GCN(num_feats, 16, num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(150):
    model.train()
    optimizer.zero_grad()
    logits = model(feats, adj_norm)
    loss = F.cross_entropy(logits[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()

    if epoch % 30 == 29:
        model.eval()
        with torch.no_grad():
            pred = model(feats, adj_norm).argmax(1)
        acc = (pred[test_idx] == y[test_idx]).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} test acc {acc:.3f}")
