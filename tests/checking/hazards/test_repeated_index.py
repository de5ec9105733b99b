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


def told(folder: Path, text: str) -> list[tuple[str, str]]:
    """Severities and codes of what is found."""
    report = rehearsed(folder, BEFORE + text)
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
