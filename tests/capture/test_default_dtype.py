"""A default dtype that the user set holds in every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import shapewright as sw
from shapewright.record import collect_leaves

CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "x / 2": lambda x: x / 2,
    "x * 1.5": lambda x: x * 1.5,
    "x + 0.5": lambda x: x + 0.5,
    "x ** 0.5": lambda x: x**0.5,
    "sqrt": torch.sqrt,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "atan2": lambda x: torch.atan2(x, x),
    "lerp of floats": lambda x: torch.lerp(x.float(), x.float(), 0.5),
    "true_divide": lambda x: torch.true_divide(x, x),
    "where": lambda x: torch.where(x > 0, x, 0.5),
    "clamp": lambda x: torch.clamp(x, 0.5, 2),
    "full": lambda x: torch.full((x.shape[0],), 0.5),
    "full_like": lambda x: torch.full_like(x, 2),
    "zeros": lambda x: torch.zeros(x.shape[0]),
    "linspace": lambda x: torch.linspace(0, 1, x.shape[0]),
    "arange of floats": lambda x: torch.arange(0, x.shape[0], 0.5),
    "complex": lambda x: torch.polar(x.double(), x.double()) * 0.5,
    "bool sum": lambda x: (x > 1).sum(),
    "bool times float": lambda x: (x > 1) * 2.0,
    "float": lambda x: x.float(),
    "one_hot": lambda x: F.one_hot(x % 3, 3) / 2,
    "logit": lambda x: torch.special.expit(x),
    "std": lambda x: x.to(torch.get_default_dtype()).std(),
}


@pytest.fixture(params=[torch.float64, torch.float16, torch.bfloat16], ids=str)
def default(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("default")
def test_dtypes_are_those_of_a_real_run(name: str) -> None:
    x = torch.ones(40_000, dtype=torch.int64)  # too many to be computed
    real = CALLS[name](x)
    trace = sw.trace(CALLS[name], x)
    assert trace.complete, trace.findings
    (fact,) = collect_leaves(trace.output)
    assert f"torch.{fact.dtype}" == str(real.dtype)
    assert fact.shape == tuple(real.shape)
