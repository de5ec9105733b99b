"""Sizes and bounds that are tensors: known ones decide, others are supposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import shapewright as sw

CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "new_zeros": lambda x, n: x.new_zeros((n, 5000, 7)),
    "new_empty": lambda x, n: x.new_empty((n, 5000, 7)),
    "new_full": lambda x, n: x.new_full((n, 5000, 7), 2.0),
    "zeros": lambda x, n: torch.zeros((n, 5000, 7)),
    "empty": lambda x, n: torch.empty(n, 5),
    "interpolate": lambda x, n: F.interpolate(x[None, :, :, :9], size=(n, n)),
    "slice": lambda x, n: x[:, :n],
    "slice from": lambda x, n: x[..., n:],
    "slice beside indices": lambda x, n: x[[0, 1], :n],
    "slice written": lambda x, n: x.clone().__setitem__((slice(None, n),), 1.0),
    "view": lambda x, n: x.view(n, -1),
    "split": lambda x, n: x.split([n, 4 - n], dim=1),
}


def shapes(nest: Any) -> Any:
    """Shapes and dtypes of a nest."""
    if isinstance(nest, list | tuple):
        return [shapes(each) for each in nest]
    return (
        None
        if nest is None
        else (tuple(nest.shape), str(nest.dtype).removeprefix("torch."))
    )


@pytest.mark.parametrize("width", [6, 300_000])
@pytest.mark.parametrize("name", CALLS)
def test_a_known_size_is_that_of_a_real_run(name: str, width: int) -> None:
    def program(x: torch.Tensor) -> Any:
        return CALLS[name](x, torch.tensor([1, 2])[1])

    trace = sw.trace(program, f"f32[2, 4, {width}]")
    assert trace.complete
    assert not trace.findings
    assert not trace.assumptions
    assert shapes(trace.output) == shapes(program(torch.zeros(2, 4, width)))


@pytest.mark.parametrize("width", [6, 300_000])
@pytest.mark.parametrize("name", [each for each in CALLS if each != "split"])
def test_a_size_that_is_not_known_is_supposed_and_told(name: str, width: int) -> None:
    def program(x: torch.Tensor) -> Any:
        return CALLS[name](x, (x > 0).long().sum((1, 2)).max())

    trace = sw.trace(program, f"f32[2, 4, {width}]")
    assert trace.complete
    assert not trace.findings
    assert len(trace.assumptions) == 1


def test_a_bound_that_is_written_between_two_slices_counts_as_it_is_then() -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        end = torch.tensor(1)
        first = x[:end]
        end += 1
        return first, x[:end]

    trace = sw.trace(program, "f32[4, 3]")
    assert [each.shape for each in trace.output] == [(1, 3), (2, 3)]


def test_a_slice_to_an_unknown_place_is_a_view_of_all() -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x[:, : (x > 0).sum()]

    trace = sw.trace(program, "f32[4, 3]")
    whole, part = trace.output
    assert part.shape == whole.shape
    assert part.storage == whole.storage
    said = "a slice to or from an unknown place: taken to the end"
    assert [each.message for each in trace.assumptions] == [said]
    assert part.unknown == said
