# line 19: the edge dropout of a graph attention layer makes a fresh nn.Dropout in forward, which is in training mode always
import torch
import torch.nn as nn
import torch.nn.functional as F


class GATLayer(nn.Module):
    def __init__(self, fin, fout, attn_drop):
        super().__init__()
        self.w = nn.Linear(fin, fout, bias=False)
        self.src = nn.Linear(fout, 1, bias=False)
        self.dst = nn.Linear(fout, 1, bias=False)
        self.attn_drop = attn_drop

    def forward(self, x, adj):
        z = self.w(x)
        e = F.leaky_relu(self.src(z) + self.dst(z).T, 0.2)
        e = e.masked_fill(~adj, float("-inf"))
        alpha = nn.Dropout(self.attn_drop)(e.softmax(dim=1))
        return alpha @ z


class GAT(nn.Module):
    def __init__(self, fin, hidden, classes):
        super().__init__()
        self.a = GATLayer(fin, hidden, 0.4)
        self.b = GATLayer(hidden, classes, 0.4)

    def forward(self, x, adj):
        return self.b(F.elu(self.a(x, adj)), adj)


def citation_graph(n=90, classes=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    p = torch.where(y[:, None] == y[None], 0.15, 0.02)
    upper = torch.rand(n, n, generator=g).lt(p).triu(1)
    adj = upper | upper.T | torch.eye(n, dtype=torch.bool)
    x = F.one_hot(y, classes).float() + torch.randn(n, classes, generator=g)
    return x, adj, y


def main():
    torch.manual_seed(0)
    x, adj, y = citation_graph()
    seen = torch.arange(len(y)) % 3 == 0
    net = GAT(3, 16, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for epoch in range(50):
        net.train()
        opt.zero_grad()
        F.cross_entropy(net(x, adj)[seen], y[seen]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        guess = net(x, adj).argmax(1)
    print("unseen nodes", (guess[~seen] == y[~seen]).float().mean().item())


main()
