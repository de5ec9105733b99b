import torch
import torch.nn as nn
from types import SimpleNamespace

args = SimpleNamespace(dims=[16, 32], depths=[1, 2], num_classes=11, kernel=5)


class Block(nn.Module):
    def __init__(self, dim, kernel):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel, padding=kernel // 2, groups=dim)
        self.norm = nn.LayerNorm(dim)
        self.pw1 = nn.Conv2d(dim, 4 * dim, 1)
        self.pw2 = nn.Conv2d(4 * dim, dim, 1)

    def forward(self, x):
        y = self.dwconv(x)
        y = self.norm(y)
        y = self.pw2(nn.functional.gelu(self.pw1(y)))
        return x + y


class Model(nn.Module):
    def __init__(self, args=args):
        super().__init__()
        self.stem = nn.Conv2d(3, args.dims[0], 4, stride=4)
        stages = []
        for i, (dim, depth) in enumerate(zip(args.dims, args.depths)):
            if i > 0:
                stages.append(nn.Conv2d(args.dims[i - 1], dim, 2, stride=2))
            stages.extend(Block(dim, args.kernel) for _ in range(depth))
        self.stages = nn.ModuleList(stages)
        self.head = nn.Linear(args.dims[-1], args.num_classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean(dim=(2, 3)))


def example_inputs():
    return (torch.randn(2, 3, 40, 40),)
