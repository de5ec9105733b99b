import random

import torch
import torch.nn as nn
import torch.nn.functional as F

NODE_DIM, EDGE_DIM, HID = 9, 3, 32


class Graph:
    def __init__(self, x, edge_index, edge_attr, y):
        self.x, self.edge_index, self.edge_attr, self.y = x, edge_index, edge_attr, y


class Batch:
    def __init__(self, graphs):
        xs, eis, eas, owner, offset = [], [], [], [], 0
        for i, g in enumerate(graphs):
            xs.append(g.x)
            eis.append(g.edge_index + offset)
            eas.append(g.edge_attr)
            owner.append(torch.full((g.x.size(0),), i))
            offset += g.x.size(0)
        self.x = torch.cat(xs)
        self.edge_index = torch.cat(eis, dim=1)
        self.edge_attr = torch.cat(eas)
        self.batch = torch.cat(owner)
        self.y = torch.tensor([g.y for g in graphs])


def random_molecule(rng):
    n = rng.randint(8, 20)
    bonds = [(i, rng.randrange(i)) for i in range(1, n)]
    bonds += [tuple(rng.sample(range(n), 2)) for _ in range(rng.randint(0, 3))]
    src = [a for a, b in bonds] + [b for a, b in bonds]
    dst = [b for a, b in bonds] + [a for a, b in bonds]
    x = F.one_hot(torch.randint(0, NODE_DIM, (n,)), NODE_DIM).float()
    kinds = torch.randint(0, EDGE_DIM, (len(bonds),)).repeat(2)
    return Graph(x, torch.tensor([src, dst]), F.one_hot(kinds, EDGE_DIM).float(), float(x[:, 0].sum() > 1))


def global_add_pool(x, batch):
    size = int(batch.max()) + 1
    return x.new_zeros(size, x.size(1)).index_add(0, batch, x)


class GINEConv(nn.Module):
    def __init__(self, mlp, in_dim):
        super().__init__()
        self.mlp = mlp
        self.lin_edge = nn.Linear(EDGE_DIM, in_dim)
        self.eps = nn.Parameter(torch.zeros(1))

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        message = F.relu(x[src] + self.lin_edge(edge_attr))
        total = torch.zeros_like(x).index_add(0, dst, message)
        return self.mlp((1 + self.eps) * x + total)


class GINE(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GINEConv(self.mlp(NODE_DIM), NODE_DIM)
        self.conv2 = GINEConv(self.mlp(HID), HID)
        self.conv3 = GINEConv(self.mlp(HID), HID)
        self.lin1 = nn.Linear(3 * HID, HID)
        self.lin2 = nn.Linear(HID, 1)

    @staticmethod
    def mlp(in_dim):
        return nn.Sequential(nn.Linear(in_dim, HID), nn.BatchNorm1d(HID), nn.ReLU(), nn.Linear(HID, HID), nn.ReLU())

    def forward(self, x, edge_index, edge_attr, batch):
        p1 = self.conv1(x, edge_index, edge_attr)
        p1 = global_add_pool(p1, batch)
        p2 = self.conv2(p1, edge_index, edge_attr)
        p2 = global_add_pool(p2, batch)
        p3 = self.conv3(p2, edge_index, edge_attr)
        p3 = global_add_pool(p3, batch)
        p = torch.cat((p1, p2, p3), dim=1)
        p = F.dropout(F.relu(self.lin1(p)), p=0.5, training=self.training)
        return self.lin2(p).squeeze(1)


def main():
    rng = random.Random(0)
    torch.manual_seed(0)
    molecules = [random_molecule(rng) for _ in range(160)]
    model = GINE()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(3):
        model.train()
        rng.shuffle(molecules)
        total = 0.0
        for i in range(0, len(molecules), 16):
            data = Batch(molecules[i : i + 16])
            optimizer.zero_grad()
            out = model(data.x, data.edge_index, data.edge_attr, data.batch)
            loss = F.binary_cross_entropy_with_logits(out, data.y)
            loss.backward()
            optimizer.step()
            total += loss.item() * data.y.size(0)
        print(f"Epoch {epoch}: loss {total / len(molecules):.4f}")


if __name__ == "__main__":
    main()
