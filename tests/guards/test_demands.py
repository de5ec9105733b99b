"""Comparisons that a program insists on, and the words in which it does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from shapewright.program.assertions import AssertedComparison
from tests.guards.watching import told

BAD = AssertedComparison("ValueError", "bad")
ASSERTED = AssertedComparison("AssertionError", None)
SAID_BAD = AssertedComparison("AssertionError", "bad")


def maybe(demand: AssertedComparison) -> AssertedComparison:
    return AssertedComparison(demand.kind, demand.message, straight=False)


CASES: dict[str, list[AssertedComparison | None]] = {
    # x is f32[2, 30, 8, 12]
    "assert x.shape[1] <= 1024": [ASSERTED],
    "assert x.shape[1] <= 1024, 'bad'": [AssertedComparison("AssertionError", "bad")],
    "T = x.shape[1]\nassert T <= 64, f'{T} > {x.ndim + 60} tokens'": [
        AssertedComparison("AssertionError", "{T} > {x.ndim + 60} tokens")
    ],
    "assert x.shape[1] <= 64, 'no ' + str(3)": [ASSERTED],
    "assert not x.shape[1] % 2": [ASSERTED],
    "assert not (x.shape[1] > 40 or x.shape[2] > 9)": [ASSERTED, ASSERTED],
    "assert x.shape[2] > 4 and x.shape[3] > 4": [ASSERTED, ASSERTED],
    "assert x.shape[2] == 1 or x.shape[3] == 12": [None, maybe(ASSERTED)],
    "assert 4 < x.shape[2] < 10": [ASSERTED, ASSERTED],
    "assert x.shape == (2, 30, 8, 12)": [ASSERTED] * 4,
    "assert x.shape[0] in (1, 2)": [None, maybe(ASSERTED)],
    "assert x.shape[0] not in (1, 3)": [ASSERTED, ASSERTED],
    "assert all(n % 2 == 0 for n in x.shape[2:])": [ASSERTED, ASSERTED],
    "assert any(n % 8 == 0 for n in x.shape[2:])": [maybe(ASSERTED)],
    "assert (n := x.shape[1]) < 50": [ASSERTED],
    "assert bool(x.shape[1] < 50)": [ASSERTED],
    "torch._assert(x.shape[1] < 50, 'bad')": [SAID_BAD],
    "torch._assert(x.shape[1] < 50 and x.size(2) > 1, 'bad')": [
        SAID_BAD, SAID_BAD,
    ],
    "if x.shape[1] > 64: raise ValueError('bad')": [BAD],
    "if x.shape[1] % 2:\n    raise ValueError('bad')": [BAD],
    "if x.shape[1] % 2 != 0 or x.shape[2] % 2 != 0:\n    raise ValueError('bad')": [
        BAD, BAD,
    ],
    "if x.shape[1] > 64 and x.shape[2] > 64: raise ValueError('bad')": [maybe(BAD)],
    "if x.shape[2:] != (8, 12): raise ValueError('bad')": [BAD, BAD],
    "if x.shape[1] > 64: raise ValueError": [AssertedComparison("ValueError")],
    "if x.shape[1] > 64: raise torch.OutOfMemoryError('bad')": [
        AssertedComparison("torch.OutOfMemoryError", "bad")
    ],
    "if x.shape[1] <= 64: x = x + 1\nelse: raise ValueError('bad')": [BAD],
    "if x.shape[1] > 64: pass\nelif x.shape[2] > 9: raise ValueError('bad')": [
        None, BAD,
    ],
    "if x.shape[1] > 64: x = x + 1": [None],
    "if x.shape[1] < 64: x = x + 1\nelse: x = x + 2": [None],
    "t = min(x.shape[1], 512)": [None],
    "assert min(x.shape[2], 9) > 4": [None, ASSERTED],
    "assert max(x.shape[2], x.shape[3])": [None, ASSERTED],
    "assert [n > 2 for n in x.shape[2:]]": [None, None],
    "assert all(n > 2 for n in x.shape if n > 9)": [
        None, None, None, None, ASSERTED, ASSERTED,
    ],
    "assert max([n > 2 for n in x.shape[3:]])": [None],
    "assert all(x.shape[2:])": [ASSERTED, ASSERTED],
    "assert any(x.shape[2:])": [maybe(ASSERTED)],
    "assert bool(x.shape[2])": [ASSERTED],
    "assert (x.shape[2] / 2).is_integer(), 'bad'": [SAID_BAD],
    "assert (1 if x.shape[1] > 3 else 0)": [None],
    "while x.shape[1] > 64: raise ValueError('bad')": [None],
    "ok = x.shape[1] < 64\nassert ok": [None],
    "if x.shape[1] > 64:\n    x = x + 1\n    raise ValueError('bad')": [None],
}  # fmt: skip


@pytest.mark.parametrize("body", CASES)
def test_a_comparison_is_a_demand(body: str, tmp_path: Path) -> None:
    guards = told(tmp_path, body, torch.zeros(2, 30, 8, 12)).guards
    assert [guard.demand for guard in guards] == CASES[body]


def test_a_truth_test_stands_where_its_expression_does(tmp_path: Path) -> None:
    body = "if x.ndim and x.shape[1] % 8:\n    x = x + 1"
    (guard,) = told(tmp_path, body, torch.zeros(2, 30)).guards
    assert str(guard).endswith("program.py:9:8: t2.shape[1] % 8 != 0: true")
    body = "x = 1 if not x.shape[1] % 8 else 2"
    (guard,) = told(tmp_path, body, torch.zeros(2, 30)).guards
    assert guard.span is not None
    assert (guard.span.column, guard.span.end_column) == (18, 32)


def test_a_demand_stands_where_the_program_has_it(tmp_path: Path) -> None:
    body = "assert (\n    x.shape[1]\n    <= 64\n), 'bad'"
    (guard,) = told(tmp_path, body, torch.zeros(2, 30)).guards
    assert guard.span is not None
    assert (guard.span.line, guard.span.end_line) == (10, 11)
    assert guard.demand == AssertedComparison("AssertionError", "bad")
