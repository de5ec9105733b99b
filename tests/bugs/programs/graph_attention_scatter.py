import torch
from torch import nn


def edge_softmax(scores, dst, n):
    index = dst[:, None].expand_as(scores)
    top = scores.new_full((n, scores.size(1)), float("-inf"))
    top = top.scatter_reduce(0, index, scores, reduce="amax")
    e = (scores - top[dst]).exp()
    total = e.new_zeros(n, e.size(1)).scatter_add_(0, index, e)
    return e / total[dst]


class GATLayer(nn.Module):
    def __init__(self, din, dout, heads):
        super().__init__()
        self.heads = heads
        self.lin = nn.Linear(din, heads * dout, bias=False)
        self.att_src = nn.Parameter(torch.randn(heads, dout))
        self.att_dst = nn.Parameter(torch.randn(heads, dout))

    def forward(self, x, edge_index):
        n = x.size(0)
        src, dst = edge_index
        h = self.lin(x).view(n, self.heads, -1)
        s, d = (h * self.att_src).sum(-1), (h * self.att_dst).sum(-1)
        score = nn.functional.leaky_relu(s[src] + d[dst], 0.2)
        alpha = edge_softmax(score, dst, n)
        out = torch.zeros_like(h).index_add_(0, dst, alpha[..., None] * h[src])
        return out.flatten(1), alpha


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gat = GATLayer(5, 4, heads=3)

    def forward(self, x, edge_index):
        loops = torch.arange(x.size(0), device=x.device).expand(2, -1)
        return self.gat(x, torch.cat([edge_index, loops], dim=1))


def example_inputs():
    edges = torch.tensor([[0, 1, 2, 2, 5, 6], [1, 0, 0, 3, 6, 5]])
    return torch.randn(7, 5), edges
