import torch
import torch.nn as nn

EDGES = """1 2
1 3
2 4
3 4
4 5
5 6
6 7
5 8
8 7"""


def read_graph(text):
    pairs = [tuple(int(v) for v in line.split()) for line in text.splitlines()]
    edge = torch.tensor(pairs).t() - 1
    return torch.cat([edge, edge.flip(0)], dim=1)


def normalised_adjacency(edge, n):
    deg = torch.bincount(edge[0], minlength=n).clamp(min=1).float()
    w = (deg[edge[0]] * deg[edge[1]]).rsqrt()
    return torch.sparse_coo_tensor(edge, w, (n, n)).coalesce()


class GCN(nn.Module):
    def __init__(self, n_in, n_hid, n_out):
        super().__init__()
        self.l1, self.l2 = nn.Linear(n_in, n_hid), nn.Linear(n_hid, n_out)

    def forward(self, adj, x):
        h = torch.relu(torch.sparse.mm(adj, self.l1(x)))
        return torch.sparse.mm(adj, self.l2(h))


torch.manual_seed(0)
edge = read_graph(EDGES)
n = edge.unique().numel()
adj = normalised_adjacency(edge, n)
x, y = torch.eye(n), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
net = GCN(n, 16, 2)
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for _ in range(40):
    loss = nn.functional.cross_entropy(net(adj, x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
