import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(1, 12, 5, 6, 4))

    def forward(self, x):
        u = (self.w @ x[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros(x.size(0), 12, 5, 1, device=x.device)
        for _ in range(3):
            c = b.softmax(2)
            s = (c * u).sum(1, keepdim=True)
            v = s * s.norm(dim=-1, keepdim=True)
            b = b + (u * v).sum(-1, keepdim=True)
        return v.squeeze(1)


def example_inputs():
    return (torch.randn(3, 12, 4),)
