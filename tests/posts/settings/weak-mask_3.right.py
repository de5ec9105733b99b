# line 6: the additive mask of the graph attention is -1e-9 instead of -1e9 where two nodes have no edge
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = dict(nodes=48, feats=8, hidden=16, classes=3, lr=0.01, epochs=60, neg=-1e9)


class GraphAttention(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.lin = nn.Linear(fin, fout, bias=False)
        self.src, self.dst = nn.Linear(fout, 1), nn.Linear(fout, 1)

    def forward(self, x, adj):
        h = self.lin(x)
        e = F.leaky_relu(self.dst(h) + self.src(h).t(), 0.2)
        e = e + (1.0 - adj) * CFG["neg"]
        return F.softmax(e, dim=1) @ h


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GraphAttention(CFG["feats"], CFG["hidden"])
        self.second = GraphAttention(CFG["hidden"], CFG["classes"])

    def forward(self, x, adj):
        return self.second(F.elu(self.first(x, adj)), adj)


def community_graph():
    y = torch.arange(CFG["nodes"]) % CFG["classes"]
    same = y[:, None] == y[None, :]
    p = torch.where(same, torch.tensor(0.35), torch.tensor(0.03))
    upper = torch.triu((torch.rand(p.shape) < p).float(), diagonal=1)
    adj = upper + upper.t() + torch.eye(CFG["nodes"])
    x = torch.randn(CFG["nodes"], CFG["feats"])
    x[:, : CFG["classes"]] += F.one_hot(y, CFG["classes"])
    return x, adj, y


torch.manual_seed(4)
x, adj, y = community_graph()
shuffled = torch.randperm(CFG["nodes"])
train_nodes, test_nodes = shuffled[:24], shuffled[24:]
gat = GAT()
opt = torch.optim.Adam(gat.parameters(), lr=CFG["lr"], weight_decay=5e-4)
for epoch in range(CFG["epochs"]):
    gat.train()
    opt.zero_grad()
    F.cross_entropy(gat(x, adj)[train_nodes], y[train_nodes]).backward()
    opt.step()
gat.eval()
with torch.no_grad():
    hit = gat(x, adj).argmax(1)[test_nodes] == y[test_nodes]
print("test accuracy", hit.float().mean().item())
