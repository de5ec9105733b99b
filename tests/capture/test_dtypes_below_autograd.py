"""Operands of two dtypes are refused in a run with torch's own autograd, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import shapewright as sw

CALLS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "linear": (F.linear, [(3, 8), (5, 8), (5,)]),
    "matmul": (torch.matmul, [(2, 3, 8), (8, 5)]),
    "addmm": (torch.addmm, [(3, 5), (3, 8), (8, 5)]),
    "conv2d": (F.conv2d, [(2, 3, 9, 9), (4, 3, 3, 3), (4,)]),
    "conv_transpose2d": (F.conv_transpose2d, [(2, 3, 9, 9), (3, 4, 3, 3)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (8,), w, b), [(3, 8), (8,), (8,)]),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        [(3, 8), (8,), (8,)],
    ),
    "grid_sample": (F.grid_sample, [(1, 2, 4, 4), (1, 3, 3, 2)]),
    "cdist": (torch.cdist, [(3, 4), (5, 4)]),
    "binary_cross_entropy": (F.binary_cross_entropy, [(3, 4), (3, 4)]),
    "add": (torch.add, [(3, 4), (3, 4)]),
    "cat": (lambda a, b: torch.cat([a, b]), [(3, 4), (3, 4)]),
    "mse_loss": (F.mse_loss, [(3, 4), (3, 4)]),
}


@pytest.mark.parametrize("other", [torch.float64, torch.float16, torch.int64])
@pytest.mark.parametrize("name", CALLS)
def test_torch_decides(name: str, other: torch.dtype) -> None:
    func, shapes = CALLS[name]
    for odd in range(len(shapes)):
        operands = []
        for n, shape in enumerate(shapes):
            made = torch.ones(shape, dtype=other if n == odd else torch.float32)
            operands.append(made.requires_grad_(made.is_floating_point()))
        try:
            func(*operands)
            taken = True
        except Exception:
            taken = False

        def run(*given: Any) -> Any:
            weight = torch.ones(3, requires_grad=True)
            weight.sum().backward()
            assert weight.grad is not None
            return func(*given)

        assert sw.trace(run, *operands).complete == taken
