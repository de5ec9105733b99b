"""Lists of losses that NumPy cannot read, and what their tensors are written of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(6, 3)
batches = [(torch.randn(8, 6), torch.randint(3, (8,))) for _ in range(3)]


def measure(x, y):
    return nn.functional.cross_entropy(model(x), y)


def measure_all(pairs):
    kept = []
    for x, y in pairs:
        kept.append(measure(x, y))
    return kept, len(kept)


{rows}
"""
LOSSES = "losses = [measure(x, y) for x, y in batches]\n"
WRONG = {
    "a comprehension": (
        "print(np.mean([measure(x, y) for x, y in batches]))",
        "`measure(x, y).item()`",
    ),
    "products": (
        LOSSES + "print(np.sum([n * l for n, l in zip([8, 8, 8], losses)]) / 24)",
        "`(n * l).item()`",
    ),
    "a name": (LOSSES + "print(np.array(losses).mean())", "`measure(x, y).item()`"),
    "added lists": (
        "losses = []\nfor x, y in batches:\n    losses += [measure(x, y)]\n"
        "print(np.mean(losses))",
        "`measure(x, y).item()`",
    ),
    "a function's list": (
        "losses, count = measure_all(batches)\nprint(np.mean(losses))",
        "`measure(x, y).item()`",
    ),
    "rows": (
        "print(np.mean([model(x).sum(1) for x, _ in batches]))",
        "`model(x).sum(1).detach()`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_tensors_of_a_list(case: str, tmp_path: Path) -> None:
    rows, edit = WRONG[case]
    findings = rehearsed(tmp_path, SCRIPT.format(rows=rows)).findings
    assert [finding.code for finding in findings] == ["to-numpy"]
    assert findings[0].fixes[0].message == edit


def test_numbers_of_a_list_are_quiet(tmp_path: Path) -> None:
    rows = "print(np.mean([measure(x, y).item() for x, y in batches]))"
    assert not rehearsed(tmp_path, SCRIPT.format(rows=rows)).findings
