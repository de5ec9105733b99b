"""Small message-passing network for aqueous solubility, without torch_geometric."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

ATOMS = ["C", "N", "O", "S", "Cl"]
POLARITY = torch.tensor([-0.4, 0.7, 1.0, 0.1, -0.6])


def random_molecule(rng):
    n = int(rng.integers(5, 14))
    z = rng.choice(len(ATOMS), size=n, p=[0.6, 0.15, 0.15, 0.05, 0.05])
    parents = [int(rng.integers(0, i)) for i in range(1, n)]
    src = np.array(parents + list(range(1, n)))
    dst = np.array(list(range(1, n)) + parents)
    z, edges = torch.as_tensor(z), torch.as_tensor(np.stack([src, dst]))
    pol = POLARITY[z]
    # polar atoms next to polar atoms count more
    y = pol.sum() + 0.8 * (pol[edges[0]] * pol[edges[1]]).sum()
    return {"z": z, "edge_index": edges, "y": y}


def collate(mols):
    z = torch.cat([m["z"] for m in mols])
    starts = np.cumsum([0] + [len(m["z"]) for m in mols]).tolist()
    edge_index = torch.cat([m["edge_index"] + s for m, s in zip(mols, starts)], dim=1)
    batch = torch.cat([torch.full((len(m["z"]),), i) for i, m in enumerate(mols)])
    y = torch.stack([m["y"] for m in mols])
    return z, edge_index, batch, y


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.upd = nn.GRUCell(dim, dim)

    def forward(self, h, edge_index):
        src, dst = edge_index
        m = self.msg(torch.cat([h[src], h[dst]], dim=-1))
        agg = torch.zeros_like(h).index_add(0, dst, m)
        return self.upd(agg, h)


class SolubilityNet(nn.Module):
    def __init__(self, dim=48, steps=3):
        super().__init__()
        self.embed = nn.Embedding(len(ATOMS), dim)
        self.layers = nn.ModuleList([MessagePassing(dim) for _ in range(steps)])
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, z, edge_index, batch, n_graphs):
        h = self.embed(z)
        for layer in self.layers:
            h = layer(h, edge_index)
        atom_out = self.readout(h).squeeze(-1)
        return torch.zeros(n_graphs).index_add(0, batch, atom_out)


torch.manual_seed(0)
rng = np.random.default_rng(0)
mols = [random_molecule(rng) for _ in range(640)]
train_loader = DataLoader(mols[:512], batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(mols[512:], batch_size=32, collate_fn=collate)

net = SolubilityNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(1, 16):
    net.train()
    for z, edge_index, batch, y in train_loader:
        pred = net(z, edge_index, batch, len(y))
        loss = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 0:
        net.eval()
        se = 0.0
        with torch.no_grad():
            for z, edge_index, batch, y in test_loader:
                se += ((net(z, edge_index, batch, len(y)) - y) ** 2).sum().item()
        print(f"epoch {epoch:2d}  test RMSE {(se / 128) ** 0.5:.3f}")
