"""Runs of one program in a row share what was taken before the first of them."""

from __future__ import annotations

import gc
import random
import weakref

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright.engine.memo import Memo
from shapewright.runtime.restore.snapshot import take_snapshot
from shapewright.runtime.run import record_run
from shapewright.runtime.run_record import RunRequest

CACHE: dict[str, torch.Tensor] = {}


class Remembers(nn.Module):
    """Stores tensors wherever a program may, and counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last: torch.Tensor | None = None
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        table = CACHE.setdefault("table", torch.zeros(x.shape[0], 4))
        self.last = self.norm(self.scale(x)) + table
        random.random()
        return self.last


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_each_run_starts_from_the_same_state(device: str) -> None:
    model = Remembers().to(device)
    inputs = [torch.empty(rows, 4, device=device) for rows in (2, 3, 3, 5)]
    state = random.getstate()
    request = RunRequest(memo=Memo(), taken=take_snapshot(model, (inputs[0],), {}))
    for x in inputs:
        trace = record_run(model, (x,), {}, request).trace
        alone = sw.trace(model, x)
        assert trace.complete, trace.findings  # a cache of the run before would not fit
        assert (
            trace.to_json().split('"seconds"')[0]
            == (alone.to_json().split('"seconds"')[0])
        )
        assert (model.calls, model.last, CACHE) == (0, None, {})
        assert random.getstate() == state


class Thaws(nn.Module):
    """Changes metadata of its parameter in each run."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.weight.requires_grad
        self.weight.requires_grad_(True)
        return x * self.weight if not before else x.reshape(-1)


def test_what_a_run_claims_of_a_parameter_ends_with_it() -> None:
    model, x = Thaws(), torch.ones(2, 3)
    request = RunRequest(taken=take_snapshot(model, (x,), {}))
    shapes = [record_run(model, (x,), {}, request).trace.output.shape for _ in range(3)]
    assert shapes == [(2, 3)] * 3
    assert not model.weight.requires_grad


def test_a_dropped_trace_is_freed_at_once() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    gc.collect()
    gc.disable()
    try:
        trace = sw.trace(model, "f32[2, 3]")
        fold = weakref.ref(trace.ops._fold.__self__)  # type: ignore[attr-defined]
        assert fold() is not None
        del trace
        assert fold() is None
    finally:
        gc.enable()
