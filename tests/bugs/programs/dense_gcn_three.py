import torch
import torch.nn as nn


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Linear(n_in, n_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x, adj):
        h = self.weight(x)
        return torch.bmm(h, adj) + self.bias


class Model(nn.Module):
    """Toxicity of small molecules, adjacency padded to the largest one."""

    def __init__(self, n_feats=9, hidden=16, tasks=12):
        super().__init__()
        self.gc1 = GraphConv(n_feats, hidden)
        self.gc2 = GraphConv(n_feats, hidden)
        self.readout = nn.Linear(hidden * 2, tasks)

    @staticmethod
    def normalise(adj):
        eye = torch.eye(adj.size(-1), device=adj.device)
        adj = adj + eye
        d = adj.sum(-1).rsqrt()
        return d.unsqueeze(2) * adj * d.unsqueeze(1)

    def forward(self, x, adj):
        adj = self.normalise(adj)
        x = torch.relu(self.gc1(x, adj))
        x = torch.relu(self.gc2(x, adj))
        mean = x.mean(dim=1)
        peak = x.amax(dim=2)
        return self.readout(torch.cat([mean, peak], dim=-1))


def example_inputs():
    adj = (torch.rand(4, 11, 11) > 0.7).float()
    adj = torch.maximum(adj, adj.transpose(1, 2))
    return torch.randn(4, 11, 9), adj
