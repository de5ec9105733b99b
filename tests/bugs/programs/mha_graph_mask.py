import torch
import torch.nn as nn


class GraphTransformerLayer(nn.Module):
    """Nodes attend to their neighbours only."""

    def __init__(self, dim=24, heads=3):
        super().__init__()
        self.heads = heads
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, nodes, adj):
        eye = torch.eye(adj.size(-1), dtype=torch.bool, device=adj.device)
        blocked = ~(adj.bool() | eye)
        out, _ = self.attn(nodes, nodes, nodes, attn_mask=blocked)
        return self.norm(nodes + out)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(7, 24)
        self.layers = nn.ModuleList(GraphTransformerLayer() for _ in range(2))

    def forward(self, feats, adj):
        h = self.inp(feats)
        for layer in self.layers:
            h = layer(h, adj)
        return h


def example_inputs():
    adj = (torch.rand(2, 15, 15) > 0.7).float()
    adj = ((adj + adj.transpose(1, 2)) > 0).float()
    return torch.randn(2, 15, 7), adj
