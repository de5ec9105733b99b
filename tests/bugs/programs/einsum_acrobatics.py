import torch
from torch import nn


class Model(nn.Module):
    """Bilinear pooling and other contractions."""

    def __init__(self, d=6, k=3, m=5):
        super().__init__()
        self.core = nn.Parameter(torch.randn(d, k, m))
        self.left = nn.Parameter(torch.randn(d, k))
        self.right = nn.Parameter(torch.randn(d, m))

    def gram(self, x):
        # x (n, s, d): second-order statistics of a set
        g = torch.einsum("nsi,nsj->nij", x, x) / x.size(1)
        diagonal = torch.einsum("nii->ni", g)
        return g, diagonal

    def tucker(self, a, b):
        return torch.einsum("na,nb,akm,bk->nkm", a, b, self.core, self.left)

    def energy(self, a):
        # a single number: the squared norm of the whole batch's projection
        p = torch.einsum("ni,ik->nk", a, self.left)
        return torch.einsum("nk,nk->", p, p)

    def stacked(self, a, b):
        ab = torch.stack([a, b])
        return torch.einsum("...i,ik,im->...km", ab, self.left, self.right)

    def forward(self, x):
        g, d = self.gram(x)
        a, b = x.mean(1), x.amax(1)
        return g, d, self.tucker(a, b), self.energy(a), self.stacked(a, b)


def example_inputs():
    return (torch.randn(4, 9, 6),)
