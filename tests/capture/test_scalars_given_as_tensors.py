"""A 0-dim tensor where torch takes a number is a number of its kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

import shapewright as sw

Values = torch.Tensor
CALLS: dict[str, Callable[[Values, Values], Values]] = {
    "alpha": lambda x, a: torch.add(x, x, alpha=a),
    "alpha in place": lambda x, a: x.clone().add_(x, alpha=-a),
    "alpha of sub": lambda x, a: x.clone().sub_(x, alpha=a / 2),
    "value": lambda x, a: torch.addcmul(x, x, x, value=a),
    "value in place": lambda x, a: x.clone().addcdiv_(x, x + 1, value=-a),
    "alpha and beta": lambda x, a: torch.addmm(x, x, x, alpha=a, beta=a),
    "full_like": lambda x, a: torch.full_like(x, a),
    "fill_": lambda x, a: x.clone().fill_(a),
    "bounds": lambda x, a: x.clamp(min=a, max=a + 1),
    "slope": lambda x, a: F.leaky_relu(x, a),
    "threshold": lambda x, a: F.threshold(x, a, a),
    "padding": lambda x, a: F.pad(x, (1, 1), value=a),
    "foreach": lambda x, a: foreach(x, a),
    "weight": lambda x, a: torch.lerp(x, x, a),
    "a new one": lambda x, a: torch.tensor([a, a]),
}


def foreach(x: Values, a: Values) -> Values:
    out = x.clone()
    torch._foreach_add_([out], [x], alpha=a)
    return out


@pytest.mark.parametrize("size", [4, 700])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_those_of_a_real_run(name: str, dtype: str, size: int) -> None:
    def program(x: Values) -> Values:
        return CALLS[name](x, x.sum() / 7)

    trace = sw.trace(program, f"{dtype}[{size}, {size}]")
    real = program(torch.ones(size, size, dtype=getattr(torch, dtype)))
    assert trace.complete
    assert not trace.findings
    assert trace.output.dtype == dtype == str(real.dtype).removeprefix("torch.")
    assert trace.output.shape == tuple(real.shape)
