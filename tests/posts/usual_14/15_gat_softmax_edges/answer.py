"""Graph attention network, own implementation with edge lists; node classification by neighbourhood vote."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def build_graph(n_nodes=1200, n_classes=4, mean_degree=12):
    """Each node belongs to a community; a few reliable neighbours carry a clean signal, the others noise."""
    y = torch.randint(n_classes, (n_nodes,))
    reliable = torch.rand(n_nodes) < 0.25
    prototypes = torch.randn(n_classes, 16)
    x = 0.9 * torch.randn(n_nodes, 17)
    x[:, :16] += prototypes[y] * reliable[:, None].float() * 1.2
    x[:, 16] = reliable.float() * 2 - 1 + 0.1 * torch.randn(n_nodes)

    n_edges = n_nodes * mean_degree
    src = torch.randint(n_nodes, (3 * n_edges,))
    dst = torch.randint(n_nodes, (3 * n_edges,))
    keep = torch.rand(3 * n_edges) < torch.where(y[src] == y[dst], 0.75, 0.08)
    loops = torch.arange(n_nodes)
    edge_index = torch.stack([torch.cat([src[keep], loops]), torch.cat([dst[keep], loops])])
    return x, y, edge_index


class GATConv(nn.Module):
    def __init__(self, d_in, d_out, heads=4, negative_slope=0.2, concat=True):
        super().__init__()
        self.heads, self.d_out, self.concat = heads, d_out, concat
        self.slope = negative_slope
        self.lin = nn.Linear(d_in, heads * d_out, bias=False)
        self.a_src = nn.Parameter(torch.empty(heads, d_out))
        self.a_dst = nn.Parameter(torch.empty(heads, d_out))
        self.bias = nn.Parameter(torch.zeros(heads * d_out if concat else d_out))
        for p in (self.a_src, self.a_dst):
            nn.init.xavier_uniform_(p)

    def forward(self, x, edge_index):
        n = x.size(0)
        src, dst = edge_index
        h = self.lin(x).view(n, self.heads, self.d_out)
        score_src = (h * self.a_src).sum(-1)
        score_dst = (h * self.a_dst).sum(-1)
        e = F.leaky_relu(score_src[src] + score_dst[dst], self.slope)
        weight = (e - e.detach().max()).exp()
        total = torch.zeros(n, self.heads, device=x.device).index_add(0, dst, weight)
        alpha = weight / total[dst]
        messages = h[src] * alpha.unsqueeze(-1)
        out = torch.zeros(n, self.heads, self.d_out, device=x.device)
        out = out.index_add(0, dst, messages)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self, d_in, n_classes, hidden=8, heads=4):
        super().__init__()
        self.conv1 = GATConv(d_in, hidden, heads)
        self.conv2 = GATConv(hidden * heads, n_classes, heads, concat=False)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.2, self.training)
        x = F.elu(self.conv1(x, edge_index))
        x = F.dropout(x, 0.2, self.training)
        return self.conv2(x, edge_index)


def main():
    x, y, edge_index = build_graph()
    order = torch.randperm(len(y))
    train, val, test = order[:200], order[200:500], order[500:]
    model = GAT(x.size(1), int(y.max()) + 1)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
    print(f"{len(y)} nodes, {edge_index.size(1)} edges")
    for epoch in range(1, 151):
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(x, edge_index)[train], y[train])
        loss.backward()
        opt.step()
        if epoch % 30 == 0:
            model.eval()
            with torch.no_grad():
                hit = (model(x, edge_index).argmax(-1) == y).float()
            print(
                f"epoch {epoch:3d} loss {loss.item():.3f} train {hit[train].mean():.3f}"
                f" val {hit[val].mean():.3f} test {hit[test].mean():.3f}"
            )


if __name__ == "__main__":
    main()
