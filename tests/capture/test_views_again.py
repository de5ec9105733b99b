"""A view that autograd follows, asked twice: the second is answered from the first."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import shapewright as sw

VIEWS = {
    "view": lambda x: x.view(2, 3, 4),
    "reshape": lambda x: x.reshape(6, 4),
    "reshape of a transpose": lambda x: x.t().reshape(2, 12),
    "transpose": lambda x: x.transpose(0, 1),
    "contiguous": lambda x: x.contiguous(),
    "contiguous of a transpose": lambda x: x.t().contiguous(),
    "split": lambda x: torch.cat(x.split(2, 1)),
    "unbind": lambda x: x.unbind(0)[1],
    "chunk": lambda x: x.chunk(2, 1)[1],
    "expand": lambda x: x[:, :, None].expand(-1, -1, 5),
    "detach": lambda x: x.detach(),
    "double": lambda x: x.double(),
    "flatten": lambda x: x.flatten(0),
}


class Twice(nn.Module):
    def __init__(self, view) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(6, 4))
        self.view = view

    def forward(self, x):
        made = [self.view(self.weight * x), self.view(self.weight * x)]
        with torch.no_grad():
            made.append(self.view(self.weight * x))
        made.append(self.view(self.weight * x))
        return made


@pytest.mark.parametrize("name", VIEWS)
def test_the_second_view_is_as_torch_makes_it(name):
    model, x = Twice(VIEWS[name]), torch.ones(6, 4)
    for mine, real in zip(sw.trace(model, x).output, model(x), strict=True):
        assert mine.shape == tuple(real.shape)
        assert mine.stride == real.stride()
        assert mine.dtype == str(real.dtype).removeprefix("torch.")
        assert mine.requires_grad == real.requires_grad
        assert mine.is_leaf == real.is_leaf
        assert mine.grad_fn == (real.grad_fn.name() if real.grad_fn else None)


def test_a_write_through_a_second_view_is_followed():
    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(6, 4))

        def forward(self, x):
            made = []
            for _ in range(2):
                y = self.weight * x
                y.view(24).mul_(2)
                made.append(y)
            return made

    model, x = Written(), torch.ones(6, 4)
    for mine, real in zip(sw.trace(model, x).output, model(x), strict=True):
        assert mine.grad_fn == real.grad_fn.name()
