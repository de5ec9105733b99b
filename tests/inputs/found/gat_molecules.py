"""Graph attention over molecules, in plain PyTorch."""

import torch
import torch.nn.functional as F
from torch import nn


def scatter_softmax(src, index, num_nodes):
    top = torch.full((num_nodes, src.size(1)), -1e9)
    top = top.scatter_reduce(0, index[:, None].expand_as(src), src, "amax")
    out = (src - top[index]).exp()
    total = torch.zeros(num_nodes, src.size(1)).index_add(0, index, out)
    return out / (total[index] + 1e-16)


class GATLayer(nn.Module):
    def __init__(self, in_dim, out_dim, heads):
        super().__init__()
        self.heads, self.out_dim = heads, out_dim
        self.lin = nn.Linear(in_dim, heads * out_dim, bias=False)
        self.att_src = nn.Parameter(torch.randn(1, heads, out_dim))
        self.att_dst = nn.Parameter(torch.randn(1, heads, out_dim))

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.lin(x).view(-1, self.heads, self.out_dim)
        alpha = (h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst]
        alpha = scatter_softmax(F.leaky_relu(alpha, 0.2), dst, x.size(0))
        message = h[src] * alpha.unsqueeze(-1)
        out = torch.zeros_like(h).index_add_(0, dst, message)
        return out.flatten(1)


class MoleculeGAT(nn.Module):
    def __init__(self, node_features=11, hidden=8, heads=2, targets=3):
        super().__init__()
        self.conv1 = GATLayer(node_features, hidden, heads)
        self.conv2 = GATLayer(hidden * heads, hidden, heads)
        self.readout = nn.Linear(hidden * heads, targets)

    def forward(self, x, edge_index, batch=None):
        # x: [num_nodes, node_features], edge_index: [2, num_edges]
        x = F.elu(self.conv1(x, edge_index))
        x = F.elu(self.conv2(x, edge_index))
        if batch is None:
            batch = torch.zeros(x.size(0), dtype=torch.long, device=x.device)
        graphs = int(batch.max()) + 1
        pooled = torch.zeros(graphs, x.size(1)).index_add_(0, batch, x)
        return self.readout(pooled)
