# line 18: the letter d stands twice in the relation matrices, so each relation only scales the features
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RelationalLayer(nn.Module):
    def __init__(self, relations, fin, fout):
        super().__init__()
        self.project = nn.Linear(fin, fout)
        self.weight = nn.Parameter(torch.randn(relations, fout, fout) / fout**0.5)
        self.loop = nn.Linear(fin, fout)

    def forward(self, x, adj):
        h = self.project(x)
        per_relation = torch.einsum("nd,rde->rne", h, self.weight)
        return self.loop(x) + torch.bmm(adj, per_relation).sum(0)


class RGCN(nn.Module):
    def __init__(self, relations, fin, hidden, classes):
        super().__init__()
        self.first = RelationalLayer(relations, fin, hidden)
        self.second = RelationalLayer(relations, hidden, classes)

    def forward(self, x, adj):
        return self.second(F.relu(self.first(x, adj)), adj)


def affiliation_graph(n=90, relations=3, classes=3):
    y = torch.randint(0, classes, (n,))
    adj = torch.zeros(relations, n, n)
    for r in range(relations):
        fits = y[None, :] == (y[:, None] + r) % classes
        adj[r] = (fits & (torch.rand(n, n) < 0.15)).float()
    adj = adj / adj.sum(2, keepdim=True).clamp(min=1)
    x = F.one_hot(y, classes).float() + 0.8 * torch.randn(n, classes)
    return torch.cat([x, torch.randn(n, 5)], dim=1), adj, y


x, adj, y = affiliation_graph()
nodes = torch.randperm(len(y))
known, hidden = nodes[:45], nodes[45:]
rgcn = RGCN(3, 8, 16, 3)
optimizer = torch.optim.Adam(rgcn.parameters(), lr=0.01, weight_decay=1e-3)
for epoch in range(60):
    rgcn.train()
    optimizer.zero_grad()
    F.cross_entropy(rgcn(x, adj)[known], y[known]).backward()
    optimizer.step()

rgcn.eval()
with torch.no_grad():
    print("accuracy", (rgcn(x, adj)[hidden].argmax(1) == y[hidden]).float().mean().item())
