import random

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

random.seed(11)
torch.manual_seed(11)

ATOMS = ["C", "N", "O", "F"]


class MoleculeDataset(Dataset):
    """Random trees as molecules; the target depends on the atoms' mean weight."""

    def __init__(self, n):
        self.graphs = []
        weights = torch.tensor([1.2, 1.4, 1.6, 1.9])
        for _ in range(n):
            n_atoms = random.randint(4, 12)
            types = torch.randint(0, len(ATOMS), (n_atoms,))
            src, dst = [], []
            for i in range(1, n_atoms):
                j = random.randint(0, i - 1)
                src += [i, j]
                dst += [j, i]
            edges = torch.tensor([src, dst])
            target = weights[types].mean()
            self.graphs.append((types, edges, target))

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, idx):
        return self.graphs[idx]


def collate_graphs(batch):
    types, edges, targets, graph_ids = [], [], [], []
    offset = 0
    for g, (t, e, y) in enumerate(batch):
        types.append(t)
        edges.append(e + offset)
        targets.append(y)
        graph_ids.append(torch.full((len(t),), g))
        offset += len(t)
    return (torch.cat(types), torch.cat(edges, dim=1),
            torch.cat(graph_ids), torch.stack(targets))


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Linear(dim, dim)
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, edges):
        src, dst = edges
        msg = torch.relu(self.message(h[src]))
        agg = torch.zeros_like(h).index_add(0, dst, msg)
        return self.update(agg, h)


class MPNN(nn.Module):
    def __init__(self, n_types, dim=32, steps=3):
        super().__init__()
        self.embed = nn.Embedding(n_types, dim)
        self.layers = nn.ModuleList([MessagePassing(dim) for _ in range(steps)])
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, types, edges, graph_ids):
        h = self.embed(types)
        for layer in self.layers:
            h = layer(h, edges)
        n_graphs = int(graph_ids.max()) + 1
        pooled = torch.zeros(n_graphs, h.size(1)).index_add(0, graph_ids, h)
        counts = torch.bincount(graph_ids, minlength=n_graphs).unsqueeze(1)
        return self.readout(pooled / counts).squeeze(1)


train_set, test_set = MoleculeDataset(200), MoleculeDataset(60)
train_loader = DataLoader(train_set, batch_size=20, shuffle=True, collate_fn=collate_graphs)
test_loader = DataLoader(test_set, batch_size=20, collate_fn=collate_graphs)

model = MPNN(len(ATOMS))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()

for epoch in range(5):
    model.train()
    running = 0.0
    for types, edges, graph_ids, y in train_loader:
        optimizer.zero_grad()
        pred = model(types, edges, graph_ids)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    print(f"epoch {epoch + 1} train mse {running / len(train_set):.4f}")

model.eval()
with torch.no_grad():
    error = sum((model(t, e, g) - y).abs().sum().item() for t, e, g, y in test_loader)
print("test MAE", error / len(test_set))
