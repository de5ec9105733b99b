import torch
import torch.nn as nn
import torch.nn.functional as F


def normalize_adjacency(adj):
    adj = adj + torch.eye(adj.size(0))
    deg_inv_sqrt = adj.sum(1).pow(-0.5)
    return deg_inv_sqrt.unsqueeze(1) * adj * deg_inv_sqrt.unsqueeze(0)


class GCNLayer(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)

    def forward(self, x, adj):
        return adj @ self.linear(x)


class GCN(nn.Module):
    def __init__(self, in_dim, hid_dim, num_classes, num_layers=4):
        super().__init__()
        self.first = GCNLayer(in_dim, hid_dim)
        self.hidden = nn.ModuleList([GCNLayer(hid_dim, hid_dim) for _ in range(num_layers - 2)])
        self.last = GCNLayer(hid_dim, num_classes)

    def forward(self, x, adj):
        x = F.relu(self.first(x, adj))
        for layer in self.hidden:
            x = F.relu(layer(x, adj))
        return self.last(x, adj)


torch.manual_seed(0)
num_nodes, num_classes = 150, 3
labels = torch.randint(0, num_classes, (num_nodes,))
same = labels.unsqueeze(0) == labels.unsqueeze(1)
prob = torch.where(same, 0.08, 0.02)
upper = torch.triu((torch.rand(num_nodes, num_nodes) < prob).float(), diagonal=1)
adj = normalize_adjacency(upper + upper.t())
x = torch.randn(num_nodes, 16) + 0.5 * F.one_hot(labels, 16).float()
train_mask = torch.zeros(num_nodes, dtype=torch.bool)
train_mask[:60] = True

model = GCN(16, 32, num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
print("parameters:", sum(p.numel() for p in model.parameters()))

for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    logits = model(x, adj)
    loss = F.cross_entropy(logits[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    pred = model(x, adj).argmax(1)
print("test acc:", (pred[~train_mask] == labels[~train_mask]).float().mean().item())
