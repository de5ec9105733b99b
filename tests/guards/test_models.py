"""Whole models: watched, they do the same, and tell by what they chose their way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from guards.guards_of_a_run import Numbers, guards_of
from models import CASES
from shapewright.commands.trace import run_target
from shapewright.engine.tracked_sizes.comparisons import Watching
from shapewright.inputs.target import parse_target
from shapewright.program.assertions import AssertedComparison
from shapewright.record.guards import Guard, evaluate_guard, iter_reads
from shapewright.record.ops import Fact
from shapewright.record.trace import Trace
from shapewright.runtime.run import record_run
from shapewright.runtime.run_record import RunRequest, RunResult
from tests.guards import programs
from tests.guards.thresholds import thresholds
from tests.guards.watching import shown, watched


@pytest.mark.parametrize("name", CASES)
def test_a_watched_run_leaves_the_same_record(name: str) -> None:
    model, args, kwargs = CASES[name]()
    record_run(model, args, kwargs, RunRequest())
    plain = record_run(model, args, kwargs, RunRequest()).trace
    made = record_run(model, args, kwargs, RunRequest(guards=Watching()))
    seen = made.trace
    assert Numbers().difference(seen, plain) is None
    assert list(seen.notes) == list(plain.notes)
    assert made.guards is not None
    for guard in made.guards.guards:
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
    for read in iter_reads(guard.left, guard.right):
        shapes = {fact.shape for fact in facts[read.tensor]}
        assert any(shape[read.dim] == read.value for shape in shapes)
    assert evaluate_guard(guard, {}) is guard.outcome


def guards(model: Any, *args: Any) -> list[str]:
    """Line by line: what is compared, what follows, where it changes."""
    trace, found = watched(model, *args)
    assert trace.complete, trace.findings
    assert found.reason is None
    assert not found.lost
    return [line(guard, trace) for guard in found.guards]


def line(guard: Guard, trace: Trace) -> str:
    """`x1 <= 64: true [65] else AssertionError: too long`; `t` is a tensor it made."""
    parts = [re.sub(r"\bt\d+", "t", shown(guard, trace))]
    parts += [str(list(sizes)) for sizes in thresholds(guard).values() if sizes]
    if guard.demand:
        parts += ["else", f"{guard.demand.kind}:", str(guard.demand.message)]
    return " ".join(parts)


def test_gpt2_has_a_longest_sequence() -> None:
    assert guards(programs.GPT2(), torch.zeros(2, 12, dtype=torch.long)) == [
        "x1 <= 64: true [65] else AssertionError: Cannot forward sequence of length "
        "{t}, block size is {self.block_size}",
        "t.shape[2] % 4 != 0: false [24, 25, 28, 29, 32, 33, 36, 37] else ValueError: "
        "width must be divisible by heads",
    ]


def test_swin_pads_to_whole_windows() -> None:
    assert guards(programs.Windowed(), torch.zeros(1, 30, 28, 4)) == [
        "x2 < x1: true [30] [29]",
        "x2 <= 7: false [8]",
        "(7 - x2 % 7) % 7 != 0: false [14, 15, 21, 22, 28, 29, 35, 36]",
        "(7 - x1 % 7) % 7 != 0: true [21, 22, 28, 29, 35, 36, 42, 43]",
        "(7 - x2 % 7) % 7 > 0: false [14, 15, 21, 22, 28, 29, 35, 36]",
        "(7 - x1 % 7) % 7 > 0: true [21, 22, 28, 29, 35, 36, 42, 43]",
    ]


def test_a_u_net_checks_its_size_and_its_skips() -> None:
    assert guards(programs.UNet(), torch.zeros(1, 3, 30, 36)) == [
        "x3 < 4: false [4] else ValueError: image too small: {tuple(x.shape)}",
        "x2 < 4: false [4] else ValueError: image too small: {tuple(x.shape)}",
        "t.shape[2] == t.shape[2]: false [15, 16] [16, 17]",
        "t.shape[2] == x2: true [30, 31] [30, 31]",
        "t.shape[3] == x3: true [36, 37] [36, 37]",
    ]


def test_tokens_form_a_square() -> None:
    assert guards(programs.Square(), torch.zeros(2, 49, 8)) == [
        "int(x1 ** 0.5) * int(x1 ** 0.5) == x1: true [25, 26, 36, 37, 49, 50, 64, 65] "
        "else AssertionError: tokens must form a square"
    ]


def test_halvings_end_at_a_size() -> None:
    assert guards(programs.Pyramid(), torch.zeros(1, 3, 30, 17)) == [
        "x3 < x2: true [30] [18]",
        "x3 > 4: true [5]",
        "t.shape[3] < t.shape[2]: true [15] [10]",
        "t.shape[3] < t.shape[2]: true [8] [6]",
        "t.shape[3] < t.shape[2]: true [4] [4]",
        "t.shape[3] > 4: true [5]",
        "t.shape[3] > 4: true [5]",
        "t.shape[3] > 4: false [5]",
    ]


def test_at_most_512_positions() -> None:
    assert guards(programs.at_most, torch.zeros(2, 30)) == ["x1 > 512: false [513]"]


def test_a_demand_that_is_not_met_is_told() -> None:
    trace, found = watched(programs.Square(), torch.zeros(2, 50, 8))
    assert not trace.complete
    assert found.reason is None
    (guard,) = found.guards
    assert not guard.outcome
    assert guard.demand == AssertedComparison(
        "AssertionError", "tokens must form a square", met=False
    )


def test_a_script_is_watched(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        "import torch\nx = torch.zeros(2, 30)\nn = x.shape[1]\n"
        "half = int(n / 2)\nif half > 8:\n    x = x[:, :half]\n"
    )

    def run(watching: Watching | None = None) -> RunResult:
        return run_target(parse_target(str(file)), None, RunRequest(guards=watching))

    found = guards_of(run, run().trace)
    assert found.reason is None
    ((text, span),) = [(str(each.left), each.span) for each in found.guards]
    assert text.startswith("int(t")
    assert span is not None
    assert (span.line, span.column) == (5, 4)


def test_checks_of_torch_are_told_apart() -> None:
    _, found = watched(torch.nn.LSTM(5, 3), torch.zeros(7, 2, 5))
    assert not found.guards
    first = found.in_torch[0]
    assert first.span is not None
    assert "torch/nn/modules/rnn.py" in first.span.file
    assert str(first).endswith(".shape[2] != 5: false")


def test_sizes_inside_a_transform_are_not_known() -> None:
    def each(x: torch.Tensor) -> torch.Tensor:
        return torch.vmap(lambda row: row * 2 if row.shape[0] > 2 else row)(x)

    _, found = watched(each, torch.zeros(2, 5))
    assert not found.guards
    assert [lost.what for lost in found.lost] == ["inside torch.func"]


def test_each_place_keeps_some_of_its_comparisons() -> None:
    def last(x: torch.Tensor) -> torch.Tensor:
        for step in range(x.shape[0]):
            if step == x.shape[0] - 1:
                x = x + 1
        return x

    _, found = watched(last, torch.zeros(100, 3))
    assert len(found.guards) == 64
    ((what, count),) = [(lost.what, lost.count) for lost in found.lost]
    assert (what, count) == ("more than 64 different comparisons", 36)
