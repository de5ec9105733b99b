# line 18: messages are added to their target nodes with agg[dst] = agg[dst] + m: of the edges of a node only one counts
import torch
import torch.nn as nn
import torch.nn.functional as F


class MessagePassing(nn.Module):
    def __init__(self, node_dim, edge_dim, hidden):
        super().__init__()
        self.msg = nn.Sequential(nn.Linear(node_dim + edge_dim, hidden), nn.ReLU())
        self.upd = nn.GRUCell(hidden, node_dim)
        self.hidden = hidden

    def forward(self, h, edge_index, edge_attr):
        src, dst = edge_index
        m = self.msg(torch.cat([h[src], edge_attr], dim=-1))
        agg = h.new_zeros(h.size(0), self.hidden)
        agg[dst] = agg[dst] + m
        return self.upd(agg, h)


class MoleculeNet(nn.Module):
    def __init__(self, atoms=5, dim=16, rounds=2):
        super().__init__()
        self.atom = nn.Embedding(atoms, dim)
        self.mp = MessagePassing(dim, 2, 24)
        self.rounds = rounds
        self.energy = nn.Linear(dim, 1)

    def forward(self, kinds, edge_index, edge_attr):
        h = self.atom(kinds)
        for _ in range(self.rounds):
            h = self.mp(h, edge_index, edge_attr)
        return self.energy(h).sum()


def random_molecule(n=10, e=40):
    kinds = torch.randint(5, (n,))
    ei = torch.randint(n, (2, e))
    ea = torch.rand(e, 2)
    target = (kinds[ei[0]].float() * ea[:, 0]).sum() / 10
    return kinds, ei, ea, target


torch.manual_seed(2)
mols = [random_molecule() for _ in range(40)]
net = MoleculeNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    total = 0.0
    for i in torch.randperm(len(mols)).tolist():
        *graph, target = mols[i]
        loss = F.mse_loss(net(*graph), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / len(mols))
