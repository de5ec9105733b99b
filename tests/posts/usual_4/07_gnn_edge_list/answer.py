"""Message passing on random molecules-like graphs, no PyG needed."""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn
from torch import Tensor


@dataclass
class Graph:
    x: Tensor            # (n_nodes, n_feat)
    edge_index: Tensor
    y: float


def random_graph(g: torch.Generator) -> Graph:
    n = int(torch.randint(5, 15, (1,), generator=g))
    kinds = torch.randint(0, 4, (n,), generator=g)
    x = torch.nn.functional.one_hot(kinds, 4).float()
    edges: list[tuple[int, int]] = []
    for i in range(1, n):                       # a random tree plus one ring bond
        j = int(torch.randint(0, i, (1,), generator=g))
        edges += [(i, j), (j, i)]
    edges += [(0, n - 1), (n - 1, 0)]
    y = 0.5 * (kinds == 1).sum().item() + sum(float(kinds[a] == kinds[b]) for a, b in edges) / 2
    return Graph(x, torch.tensor(edges, dtype=torch.long).t(), y)


def collate(graphs: list[Graph]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    xs, es, batch, offset = [], [], [], 0
    for k, g in enumerate(graphs):
        xs.append(g.x)
        es.append(g.edge_index + offset)
        batch.append(torch.full((g.x.size(0),), k))
        offset += g.x.size(0)
    y = torch.tensor([g.y for g in graphs])
    return torch.cat(xs), torch.cat(es, dim=1), torch.cat(batch), y


class MPLayer(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        src, dst = edge_index
        m = self.message(torch.cat([h[src], h[dst]], dim=-1))
        agg = torch.zeros_like(h).index_add(0, dst, m)
        return self.update(agg, h)


class MPNN(nn.Module):
    def __init__(self, n_feat: int, dim: int = 32, steps: int = 3) -> None:
        super().__init__()
        self.embed = nn.Linear(n_feat, dim)
        self.layers = nn.ModuleList(MPLayer(dim) for _ in range(steps))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h, edge_index)
        n_graphs = int(batch.max()) + 1
        pooled = h.new_zeros(n_graphs, h.size(1)).index_add(0, batch, h)
        return self.readout(pooled).squeeze(-1)


def main() -> None:
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    graphs = [random_graph(g) for _ in range(300)]
    train = torch.utils.data.DataLoader(graphs[:240], batch_size=24, shuffle=True, collate_fn=collate)
    test = torch.utils.data.DataLoader(graphs[240:], batch_size=60, collate_fn=collate)
    model = MPNN(n_feat=4)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(5):
        model.train()
        for x, edges, batch, y in train:
            loss = nn.functional.mse_loss(model(x, edges, batch), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            mae = sum((model(x, e, b) - y).abs().sum().item() for x, e, b, y in test) / 60
        print(f"epoch {epoch}: train mse {loss.item():.3f}, test mae {mae:.3f}")


if __name__ == "__main__":
    main()
