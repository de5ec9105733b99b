"""A call that a loop repeats fails in each turn, with the same repairs each time."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from shapewright.engine.engine import EngineOptions, GoingOn
from shapewright.operators.failed_calls import Failure
from shapewright.runtime import run
from shapewright.runtime.run_record import RunRequest


def failures(program, graph: bool) -> list[Failure]:
    options = EngineOptions(graph=graph, going_on=GoingOn())
    return run.record_run(program, (), {}, RunRequest(options=options)).failures


def cells() -> None:
    first, second = nn.LSTMCell(1, 5), nn.LSTMCell(1, 5)
    x, state, other = torch.randn(3, 1), None, None
    for _ in range(3):
        state = first(x, state)
        other = second(state[0], other)


def losses() -> None:
    for _ in range(3):
        F.cross_entropy(torch.randn(4, 7), torch.zeros(6, dtype=torch.long))


def in_two_dtypes() -> None:
    for dtype in (torch.float32, torch.float64, torch.float32):
        torch.randn(4, 3, dtype=dtype) @ torch.randn(5, 2)


def test_repairs_are_the_same_each_time() -> None:
    for program in (cells, losses):
        for graph in (False, True):
            found = failures(program, graph)
            assert len(found) == 3, program
            assert found[1].repairs == found[2].repairs == found[0].repairs != ()


def test_repairs_are_those_of_the_call_at_hand() -> None:
    first, second, third = failures(in_two_dtypes, True)
    assert first.repairs == third.repairs != second.repairs
