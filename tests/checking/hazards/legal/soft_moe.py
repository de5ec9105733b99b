import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.randn(6, 4, 3))
        self.e = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))

    def forward(self, x):
        logits = torch.einsum("bnd,des->bnes", x, self.p)
        d = logits.softmax(dim=1)
        c = logits.flatten(2).softmax(-1).view_as(logits)
        s = torch.einsum("bnes,bnd->besd", d, x)
        y = torch.stack([e(s[:, i]) for i, e in enumerate(self.e)], 1)
        return torch.einsum("bnes,besd->bnd", c, y)


def example_inputs():
    return (torch.randn(2, 7, 6),)
