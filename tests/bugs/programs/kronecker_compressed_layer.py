import torch
from torch import nn


class KronLinear(nn.Module):
    """W = A kron B, with far fewer parameters than a full matrix."""

    def __init__(self, a_shape, b_shape):
        super().__init__()
        self.A = nn.Parameter(torch.randn(a_shape) / a_shape[1] ** 0.5)
        self.B = nn.Parameter(torch.randn(b_shape) / b_shape[1] ** 0.5)
        self.bias = nn.Parameter(torch.zeros(a_shape[0] * b_shape[0]))

    def weight(self):
        return torch.kron(self.A, self.B)

    def forward(self, x):
        return torch.matmul(x, self.weight().t()) + self.bias


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(10, 40)
        self.kron = KronLinear((6, 5), (8, 7))

    def forward(self, x):
        h = self.inp(x).relu()
        return self.kron(h)


def example_inputs():
    return (torch.randn(11, 10),)
