"""`x[index] += y` where the index has more entries than `x` has places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import torch

torch.manual_seed(0)
labels = torch.arange(16) % 3
scores, hits, wide = torch.rand(16), torch.ones(16), torch.ones(16, 2)
total, table = torch.zeros(3), torch.zeros(3, 2)
"""

WRONG = {
    "in place": "total[labels] += hits",
    "written out": "total[labels] = total[labels] + hits",
    "one column": "table[labels, 0] += hits",
    "rows": "table[labels] += wide",
    "columns": "table = torch.zeros(2, 3)\ntable[:, labels] -= wide.T",
}


def told(folder: Path, text: str, before: str = BEFORE) -> list[tuple[str, str]]:
    """Severities and codes of what is found."""
    report = rehearsed(folder, text if text.startswith(before) else before + text)
    assert report.complete
    return [(found.severity, found.code) for found in report.findings]


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_lost_is_told_of(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text) == [("warning", "repeated-index")]


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_torch_loses_it(text: str) -> None:
    names: dict[str, Any] = {}
    exec(BEFORE + text, names)
    for made in (names["total"], names["table"]):
        assert set(made.abs().flatten().tolist()) <= {0.0, 1.0}
    assert torch.bincount(names["labels"]).min() > 1


def test_one_number_that_is_added_is_a_note(tmp_path: Path) -> None:
    assert told(tmp_path, "total[labels] += 1") == [("note", "repeated-index")]


RIGHT = {
    "torch adds them all": (
        "total.index_add_(0, labels, hits)\n"
        "total.index_put_((labels,), hits, accumulate=True)\n"
        "total.scatter_add_(0, labels, hits)"
    ),
    "fewer entries than places": "total[labels[:2]] += hits[:2]",
    "each once": "total[labels.unique()] += 1\ntotal[torch.arange(3)] += hits[:3]",
    "a mask": "total[scores[:3] > 0.5] += 1",
    "places that a mask leaves": "total[labels[scores > 2]] += hits[scores > 2]",
    "written, not added": "total[labels] = hits",
    "a factor": "total[labels] *= 0.9",
    "a moving mean": "total[labels] = 0.9 * total[labels] + 0.1 * hits",
    "a step to somewhere": "total[labels] += 0.1 * (hits - total[labels])",
    "another tensor": "other = torch.zeros(3)\nother[labels] = total[labels] + hits",
    "one place": "for label, hit in zip(labels, hits):\n    total[label] += hit",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_left_alone(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text) == []


NODES = """\
import torch
from torch import nn

torch.manual_seed(0)
source, to = torch.randint(0, 8, (2, 30))
message = nn.Linear(3, 4)
messages = message(torch.randn(8, 3)[source])
index = to[:, None].expand_as(messages)
"""
COUNTS = """\
import torch

words = [torch.randint(0, 9, (n,)) for n in (20, 30)]
"""
LOST = {
    "scatter": (
        NODES + "total = torch.zeros(8, 4)\ntotal = total.scatter(0, index, messages)",
        "`scatter_add`",
    ),
    "in place": (
        NODES + "total = torch.zeros(8, 4).scatter_(0, index, src=messages)",
        "`scatter_add_`",
    ),
    "of torch": (
        NODES + "total = torch.scatter(torch.zeros(8, 4), 0, index, messages)",
        "`scatter_add`",
    ),
    "counts": (
        COUNTS + "for ids in words:\n    counts = torch.zeros(9)\n    counts[ids] += 1",
        "`counts.index_add_(0, ids, torch.ones_like(ids, dtype=counts.dtype))`",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_what_is_lost_is_added(case: str, tmp_path: Path) -> None:
    text, fix = LOST[case]
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "repeated-index"]
    assert finding.severity == "warning"
    assert [one.message for one in finding.fixes if one.checked] == [fix]


KEPT = {
    "added": NODES + "total = torch.zeros(8, 4).scatter_add(0, index, messages)",
    "reduced": NODES
    + "total = torch.zeros(8, 4).scatter(0, index, messages, reduce='add')",
    "enough places": NODES + "total = torch.zeros(40, 4).scatter(0, index, messages)",
    "a spare place": NODES
    + "n = 8\ntotal = torch.zeros(n + 1, 4).scatter(0, index, messages)[:n]",
    "a mark": NODES + "total = torch.zeros(8, 4).scatter(0, index, 1.0)",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_keeps_all_is_quiet(case: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, KEPT[case]).findings
    assert not [f for f in findings if f.code == "repeated-index"]


def test_a_count_of_lists_is_a_note(tmp_path: Path) -> None:
    text = COUNTS + "counts = torch.zeros(9)\nfor ids in words:\n    counts[ids] += 1"
    findings = rehearsed(tmp_path, text).findings
    assert {f.severity for f in findings} == {"note"}


GRAPH = """\
import torch
from torch import nn

adjacency = torch.rand(40, 40) < 0.3
message = nn.Linear(3, 4)
x, total = torch.randn(40, 3), torch.zeros(40, 4)
"""
ENDS = {
    "turned": "source, to = adjacency.nonzero().T",
    "columns": "pairs = adjacency.nonzero()\nsource, to = pairs[:, 0], pairs[:, 1]",
    "as a tuple": "source, to = adjacency.nonzero(as_tuple=True)",
    "where": "source, to = torch.where(adjacency)",
    "argwhere": "source, to = torch.argwhere(adjacency).unbind(1)",
}
ADD = {
    "in place": (
        "total[to] += message(x[source])",
        "`total.index_add_(0, to, message(x[source]))`",
    ),
    "written out": (
        "total[to] = total[to] + message(x[source])",
        "`total.index_add_(0, to, message(x[source]))`",
    ),
    "taken away": (
        "total[to] -= message(x[source])",
        "`total.index_add_(0, to, message(x[source]), alpha=-1)`",
    ),
    "whole rows": (
        "total[to, :] += message(x[source])",
        "`total.index_add_(0, to, message(x[source]))`",
    ),
    "columns": (
        "total = torch.zeros(4, 40)\ntotal[:, to] += message(x[source]).T",
        "`total.index_add_(1, to, message(x[source]).T)`",
    ),
    "one number for a row": (
        "total[to] += message(x[source]).sum(1, keepdim=True)",
        "`total.index_put_((to,), message(x[source]).sum(1, keepdim=True),"
        " accumulate=True)`",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_ends_of_edges_repeat(case: str, tmp_path: Path) -> None:
    text = GRAPH + ENDS[case] + "\n" + ADD["in place"][0]
    assert told(tmp_path, text, GRAPH) == [("warning", "repeated-index")]


@pytest.mark.parametrize("case", ADD)
def test_messages_are_added(case: str, tmp_path: Path) -> None:
    text, fix = ADD[case]
    findings = rehearsed(tmp_path, GRAPH + ENDS["turned"] + "\n" + text).findings
    (finding,) = findings
    assert [each.message for each in finding.fixes if each.checked][:1] == [fix]


ONCE = {
    "pairs of nodes": ENDS["turned"]
    + "\npairs = torch.zeros(40, 40)\npairs[source, to] += x[source, 0]",
    "nodes": ENDS["turned"]
    + "\nnodes = to.unique()\ntotal[nodes] += message(x[nodes])",
    "rows of experts": "chosen = torch.rand(4, 10) < 0.3\n"
    "slot, row = chosen.nonzero().T\n"
    "total = torch.zeros(10, 4)\ntotal[row] += message(x[row])",
    "places in a list": "to = (x[:, 0] > 0).nonzero().squeeze(1)\n"
    "total[to] += message(x[to])",
}


@pytest.mark.parametrize("case", ONCE)
def test_places_that_are_found_once_are_quiet(case: str, tmp_path: Path) -> None:
    assert told(tmp_path, ONCE[case], GRAPH) == []
