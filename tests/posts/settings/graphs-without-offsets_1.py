# line 42: the edges of the molecules of a batch are joined without counting on from the atoms before
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(17)


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.msg, self.upd = nn.Linear(dim, dim), nn.GRUCell(dim, dim)

    def forward(self, h, src, dst):
        inbox = torch.zeros_like(h).index_add(0, dst, torch.relu(self.msg(h[src])))
        return self.upd(inbox, h)


class MoleculeNet(nn.Module):
    def __init__(self, atoms=6, dim=16):
        super().__init__()
        self.atom = nn.Embedding(atoms, dim)
        self.layers = nn.ModuleList([MessagePassing(dim), MessagePassing(dim)])
        self.readout = nn.Linear(dim, 1)

    def forward(self, batch):
        h = self.atom(batch["atoms"])
        for layer in self.layers:
            h = layer(h, batch["src"], batch["dst"])
        pooled = h.new_zeros(batch["n"], h.size(1)).index_add(0, batch["owner"], h)
        return self.readout(pooled).squeeze(1)


def random_molecule():
    n = int(torch.randint(4, 10, (1,)))
    atoms, bonds = torch.randint(6, (n,)), torch.randint(n, (2, 2 * n))
    return {"atoms": atoms, "bonds": bonds, "y": (bonds[0] == bonds[1]).sum().float()}


def merge(items):
    owner = torch.cat([torch.full((len(m["atoms"]),), i) for i, m in enumerate(items)])
    bonds = torch.hstack([m["bonds"] for m in items])
    atoms = torch.hstack([m["atoms"] for m in items])
    y = torch.stack([m["y"] for m in items])
    return {"atoms": atoms, "src": bonds[0], "dst": bonds[1], "owner": owner, "n": len(items), "y": y}


loader = DataLoader([random_molecule() for _ in range(64)], 16, shuffle=True, collate_fn=merge)
net = MoleculeNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    for batch in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(batch), batch["y"])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
