import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

NO_REL, SAME_ROW, SAME_COL = 0, 1, 2


def make_table(rng):
    """Cells of a random table with jittered boxes; relations between near pairs."""
    rows, cols = rng.integers(3, 7), rng.integers(2, 5)
    cells = [(r, c) for r in range(rows) for c in range(cols) if rng.random() > 0.1]
    xy = np.array([[c * 1.0, r * 0.5] for r, c in cells]) + rng.normal(0, 0.06, (len(cells), 2))
    wh = rng.uniform(0.2, 0.8, (len(cells), 2)) * [1.0, 0.3]
    nodes = np.concatenate([xy, wh, xy + wh], axis=1)
    pairs, labels = [], []
    for i in range(len(cells)):
        order = np.argsort(((xy - xy[i]) ** 2).sum(1))[1:7]
        for j in order:
            pairs.append((i, j))
            dr, dc = cells[i][0] - cells[j][0], cells[i][1] - cells[j][1]
            labels.append(SAME_ROW if dr == 0 else SAME_COL if dc == 0 else NO_REL)
    pairs = np.array(pairs).T
    delta = nodes[pairs[1]] - nodes[pairs[0]]
    edges = np.concatenate([delta, np.abs(delta)], axis=1)
    to = lambda a: torch.tensor(a, dtype=torch.float32)
    return to(nodes), to(edges), torch.tensor(pairs), torch.tensor(labels)


class GraphAttention(nn.Module):
    def __init__(self, size, heads=4, dropout=0.4):
        super().__init__()
        self.attn = nn.MultiheadAttention(size, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.dropout = dropout

    def forward(self, x, memory, mask):
        a, _ = self.attn(x.unsqueeze(0), memory.unsqueeze(0), memory.unsqueeze(0), attn_mask=mask)
        x = self.norm1(x + F.dropout(a.squeeze(0), self.dropout))
        return self.norm2(x + F.dropout(self.ffn(x), self.dropout))


class TableGraphNet(nn.Module):
    def __init__(self, node_dim, edge_dim, size=48, blocks=2, num_classes=3):
        super().__init__()
        self.node_in = nn.Linear(node_dim, size)
        self.edge_in = nn.Linear(edge_dim, size)
        self.node_to_edge = nn.ModuleList(GraphAttention(size) for _ in range(blocks))
        self.edge_to_node = nn.ModuleList(GraphAttention(size) for _ in range(blocks))
        self.head = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, num_classes))

    def forward(self, nodes, edges, pairs):
        incidence = torch.zeros(edges.size(0), nodes.size(0), dtype=torch.bool)
        index = torch.arange(edges.size(0))
        incidence[index, pairs[0]] = True
        incidence[index, pairs[1]] = True
        n, e = self.node_in(nodes), self.edge_in(edges)
        for to_edge, to_node in zip(self.node_to_edge, self.edge_to_node):
            e = to_edge(e, n, ~incidence)
            n = to_node(n, e, ~incidence.t())
        return self.head(e)


@torch.no_grad()
def evaluate(model, tables):
    model.eval()
    right = total = 0
    for nodes, edges, pairs, labels in tables:
        pred = model(nodes, edges, pairs).argmax(dim=1)
        right += (pred == labels).sum().item()
        total += len(labels)
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train_tables = [make_table(rng) for _ in range(150)]
    test_tables = [make_table(rng) for _ in range(40)]

    model = TableGraphNet(node_dim=6, edge_dim=12)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    weight = torch.tensor([1.0, 1.5, 1.5])
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for k in rng.permutation(len(train_tables)):
            nodes, edges, pairs, labels = train_tables[k]
            loss = F.cross_entropy(model(nodes, edges, pairs), labels, weight=weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        acc = evaluate(model, test_tables)
        print(f"epoch {epoch + 1}: loss {running / len(train_tables):.3f}  relation accuracy {acc:.4f}")


if __name__ == "__main__":
    main()
