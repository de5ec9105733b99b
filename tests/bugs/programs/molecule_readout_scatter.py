import torch
from torch import nn


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Linear(2 * dim, dim)
        self.upd = nn.GRUCell(dim, dim)

    def forward(self, h, edge_index):
        src, dst = edge_index
        m = torch.relu(self.msg(torch.cat([h[src], h[dst]], dim=-1)))
        where = torch.arange(h.size(0), device=h.device)
        agg = torch.zeros_like(h).index_add_(0, where, m)
        return self.upd(agg, h)


class Model(nn.Module):
    def __init__(self, n_atom_types=9, dim=16, rounds=2):
        super().__init__()
        self.rounds = rounds
        self.emb = nn.Embedding(n_atom_types, dim)
        self.mp = MessagePassing(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, atoms, edge_index, graph_id, n_graphs):
        h = self.emb(atoms)
        for _ in range(self.rounds):
            h = self.mp(h, edge_index)
        pooled = h.new_zeros(n_graphs, h.size(1))
        pooled.scatter_add_(0, graph_id, h)
        return self.out(pooled)


def example_inputs():
    atoms = torch.tensor([1, 6, 6, 8, 1, 7])
    src = [0, 1, 1, 2, 4, 5, 2, 0]
    dst = [1, 0, 2, 1, 5, 4, 0, 2]
    graph_id = torch.tensor([0, 0, 0, 0, 1, 1])
    return atoms, torch.tensor([src, dst]), graph_id, 2
