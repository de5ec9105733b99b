"""Whole models: watched, they do the same, and tell by what they chose their way."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from models import CASES
from shapewright.capture.running import Settings, record
from shapewright.capture.tracked.asking import Numbers
from shapewright.capture.tracked.comparisons import Watching
from shapewright.trace.fact import Fact
from shapewright.trace.guards import Guard, outcome_of, reads_of
from shapewright.trace.record import Trace
from shapewright.trace.thresholds import thresholds
from tests.guards import programs
from tests.guards.watching import shown, watched


@pytest.mark.parametrize("name", CASES)
def test_a_watched_run_leaves_the_same_record(name: str) -> None:
    model, args, kwargs = CASES[name]()
    record(model, args, kwargs, Settings())
    plain = record(model, args, kwargs, Settings())
    watching = Watching()
    seen = record(model, args, kwargs, Settings(guards=watching))
    assert Numbers().difference(seen, plain) is None
    assert list(seen.notes) == list(plain.notes)
    assert watching.told is not None
    for guard in watching.told.guards:
        check_reads(guard, seen)


def check_reads(guard: Guard, trace: Trace) -> None:
    """Each read names a tensor of the record, a dim of it and its size."""
    facts: dict[int, list[Fact]] = {}
    nests: list[Any] = [(op.inputs, op.outputs) for op in trace.ops]
    nests += [(call.inputs, call.output) for call in trace.calls]
    nests += [state.fact for state in trace.states]
    while nests:
        nest = nests.pop()
        if isinstance(nest, Fact):
            facts.setdefault(nest.tensor, []).append(nest)
        elif isinstance(nest, dict):
            nests += nest.values()
        elif isinstance(nest, tuple | list):
            nests += nest
    for read in reads_of(guard.left, guard.right):
        shapes = {fact.shape for fact in facts[read.tensor]}
        assert any(shape[read.dim] == read.value for shape in shapes)
    assert outcome_of(guard, {}) is guard.outcome


def guards(model: Any, *args: Any) -> list[str]:
    """Line by line: what is compared, what follows, where it changes."""
    trace, found = watched(model, *args)
    assert trace.complete, trace.findings
    assert found.reason is None
    assert not found.lost
    return [line(guard, trace) for guard in found.guards]


def line(guard: Guard, trace: Trace) -> str:
    changes = " ".join(
        str(list(sizes)) for sizes in thresholds(guard).values() if sizes
    )
    demand = f" else {guard.demand.kind}: {guard.demand.message}" if guard.demand else ""
    return f"{shown(guard, trace)} {changes}{demand}".rstrip()


def test_gpt2_has_a_longest_sequence() -> None:
    tokens = torch.zeros(2, 12, dtype=torch.long)
    assert guards(programs.GPT2(), tokens) == [
        "x1 <= 64: true [65] else AssertionError: Cannot forward sequence of length "
        "{t}, block size is {self.block_size}",
        "t9.shape[2] % 4 != 0: false [25, 28, 29, 32, 33, 36, 37, 40] else ValueError: "
        "width must be divisible by heads",
    ]


def test_swin_pads_to_whole_windows() -> None:
    assert guards(programs.Windowed(), torch.zeros(1, 30, 28, 4)) == []


def test_a_u_net_checks_its_size_and_its_skips() -> None:
    assert guards(programs.UNet(), torch.zeros(1, 3, 30, 36)) == []


def test_tokens_form_a_square() -> None:
    assert guards(programs.Square(), torch.zeros(2, 49, 8)) == []


def test_halvings_end_at_a_size() -> None:
    assert guards(programs.Pyramid(), torch.zeros(1, 3, 30, 20)) == []


def test_at_most_512_positions() -> None:
    assert guards(programs.at_most, torch.zeros(2, 30)) == ["x1 > 512: false [513]"]


def test_a_demand_that_is_not_met_is_told() -> None:
    trace, found = watched(programs.Square(), torch.zeros(2, 50, 8))
    assert not trace.complete
    assert found.reason is None
    (guard,) = found.guards
    assert not guard.outcome
    assert guard.demand is None
