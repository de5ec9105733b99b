# Hub / regional / cargo classification of airports from the route network.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


def load_routes(num_airports=120, num_classes=3):
    labels = torch.randint(0, num_classes, (num_airports,))
    same = labels[:, None] == labels[None, :]
    prob = torch.where(same, torch.tensor(0.15), torch.tensor(0.02))
    upper = torch.triu(torch.rand(num_airports, num_airports) < prob, diagonal=1)
    adj = (upper | upper.T).float()
    feats = torch.randn(num_airports, 16)
    feats[:, :num_classes] += 0.8 * F.one_hot(labels, num_classes)
    return adj, feats, labels


def add_self_loops(adj):
    return adj + torch.eye(adj.size(0), dtype=adj.dtype)


class GraphConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_dim, out_dim))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, adj, x):
        support = x @ self.weight
        deg = adj.sum(dim=1, keepdim=True)
        return adj @ support / deg + self.bias


class AirportGCN(nn.Module):
    def __init__(self, in_dim, hidden, num_classes):
        super().__init__()
        self.gc1 = GraphConv(in_dim, hidden)
        self.gc2 = GraphConv(hidden, num_classes)
        self.dropout = nn.Dropout(0.4)

    def forward(self, adj, x):
        x = self.dropout(F.relu(self.gc1(adj, x)))
        return self.gc2(adj, x)


def evaluate(model, adj, feats, labels, mask):
    model.eval()
    with torch.no_grad():
        pred = model(adj, feats).argmax(dim=1)
    return (pred[mask] == labels[mask]).float().mean().item()


adj, feats, labels = load_routes()
adj = add_self_loops(adj)

order = torch.randperm(len(labels))
train_mask = torch.zeros(len(labels), dtype=torch.bool)
train_mask[order[:60]] = True
test_mask = ~train_mask

model = AirportGCN(feats.size(1), 32, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(1, 101):
    model.train()
    optimizer.zero_grad()
    logits = model(adj, feats)
    loss = F.cross_entropy(logits[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        acc = evaluate(model, adj, feats, labels, test_mask)
        print(f"epoch {epoch:3d}  loss {loss.item():.3f}  test acc {acc:.3f}")
