"""Whether one piece of program does what another does: tried on small real tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Protocol

import torch

from shapewright.capture.identity import DTYPES
from shapewright.capture.lab.interpreting import NotRun, interpreted

Tensor = torch.Tensor


class Made(Protocol):
    """A tensor to make up."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def high(self) -> int: ...
    @property
    def zeros(self) -> bool: ...
    @property
    def distinct(self) -> int | None: ...


class Experiment(Protocol):
    """Two pieces of program, and what they are run on."""

    @property
    def loop(self) -> tuple[ast.stmt, ...]: ...
    @property
    def instead(self) -> tuple[ast.stmt, ...]: ...
    @property
    def tensors(self) -> Mapping[str, Made]: ...
    @property
    def numbers(self) -> Mapping[str, Any]: ...
    @property
    def targets(self) -> tuple[str, ...]: ...


def same(experiment: Experiment, tries: int = 2) -> bool:
    """Whether both give equal tensors, each time on other values.

    The program's own random numbers are as they were afterwards.
    """
    with torch.random.fork_rng([]), torch.no_grad(), torch.device("cpu"):
        return all(same_once(experiment, seed) for seed in range(tries))


def same_once(experiment: Experiment, seed: int) -> bool:
    """One try."""
    torch.manual_seed(seed)
    names: dict[str, Any] = {key: made_up(t) for key, t in experiment.tensors.items()}
    names |= experiment.numbers
    try:
        before = interpreted(experiment.loop, names)
        after = interpreted(experiment.instead, names)
    except (NotRun, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        return False
    return all(equal(before[key], after[key]) for key in experiment.targets)


def made_up(made: Made) -> Tensor:
    """A tensor with random values."""
    dtype, shape = DTYPES[made.dtype], made.shape
    if made.zeros:
        return torch.zeros(shape, dtype=dtype)
    if made.distinct is not None:
        return torch.rand(shape).argsort(made.distinct).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    return torch.randint(0, max(made.high, 1), shape).to(dtype)


def equal(one: Any, other: Any) -> bool:
    """Whether shape and dtype are the same, and values but for rounding."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return type(one) is type(other) and bool(one == other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    coarse = one.dtype.itemsize < 4 and one.is_floating_point()
    rtol = 0.05 if coarse else 1e-4
    return torch.allclose(one, other, rtol=rtol, atol=rtol, equal_nan=True)
