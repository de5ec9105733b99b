import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(40)


class CitationGraph:
    """Papers in four fields; a quarter of the labels is wrong."""

    def __init__(self, nodes=400, fields=4, features=60):
        self.true = torch.randint(0, fields, (nodes,))
        same = self.true[:, None] == self.true[None, :]
        prob = torch.where(same, 0.03, 0.004)
        upper = torch.triu(torch.rand(nodes, nodes) < prob, diagonal=1)
        self.adj = (upper | upper.T).float()
        topics = torch.randn(fields, features)
        self.x = 0.3 * topics[self.true] + torch.randn(nodes, features)
        wrong = torch.rand(nodes) < 0.25
        self.labels = torch.where(wrong, torch.randint(0, fields, (nodes,)), self.true)
        order = torch.randperm(nodes)
        self.train_mask = torch.zeros(nodes, dtype=torch.bool)
        self.train_mask[order[:160]] = True
        self.val_mask = torch.zeros(nodes, dtype=torch.bool)
        self.val_mask[order[160:240]] = True
        self.test_mask = ~(self.train_mask | self.val_mask)

    def normalised(self):
        a = self.adj + torch.eye(len(self.adj))
        d = a.sum(1).rsqrt()
        return d[:, None] * a * d[None, :]


class GCNLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)

    def forward(self, a, h):
        return a @ self.lin(h)


class GCN(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.first = GCNLayer(n_in, hidden)
        self.second = GCNLayer(hidden, n_out)
        self.drop = nn.Dropout(0.2)

    def forward(self, a, x):
        h = self.drop(torch.relu(self.first(a, x)))
        return self.second(a, h)


def accuracy(model, a, graph, mask):
    model.eval()
    with torch.no_grad():
        pred = model(a, graph.x).argmax(1)
    return (pred[mask] == graph.labels[mask]).float().mean().item()


graph = CitationGraph()
a_hat = graph.normalised()
model = GCN(graph.x.size(1), 64, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)

print(f"share of correct labels {(graph.labels == graph.true).float().mean().item():.3f}")
for epoch in range(1, 301):
    model.train()
    optimizer.zero_grad()
    logits = model(a_hat, graph.x)
    loss = F.cross_entropy(logits, graph.labels)
    loss.backward()
    optimizer.step()
    if epoch % 60 == 0:
        val = accuracy(model, a_hat, graph, graph.val_mask)
        print(f"epoch {epoch} loss {loss.item():.4f} val acc {val:.3f}")
print(f"test accuracy {accuracy(model, a_hat, graph, graph.test_mask):.3f}")
