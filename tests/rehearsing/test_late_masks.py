"""Masks that are made of the length of a list behind its padding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random
import numpy as np
import torch
from torch import nn

PAD, LENGTH = 0, 8
random.seed(0)
table, head = nn.Embedding(20, 6), nn.Linear(6, 2)
optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)


def encode():
    ids = [random.randrange(1, 20) for _ in range(random.randint(3, 6))]
    {lines}
    return np.array(ids), np.array(mask)


for _ in range(3):
    rows = [encode() for _ in range(4)]
    ids, mask = (torch.tensor(np.stack(part)) for part in zip(*rows))
    score = head(table(ids)).masked_fill(mask.unsqueeze(-1) == 0, 0).sum(1)
    optimizer.zero_grad()
    nn.functional.cross_entropy(score, torch.tensor([0, 1, 0, 1])).backward()
    optimizer.step()
"""
ZEROS = "mask = np.zeros(LENGTH, dtype=np.int64)"
SLICE = "mask[:len(ids)] = 1"
WHILE = "while len(ids) < LENGTH:\n        ids.append(0)"
CUT = "ids = ids[:LENGTH]"
MOVED = f"`{SLICE}` before the padding"
ADDED = "ids += [PAD] * (LENGTH - len(ids))"
WRONG = {
    "a loop": ([WHILE, CUT, ZEROS, SLICE], MOVED),
    "zeros before": ([ZEROS, ADDED, SLICE], MOVED),
    "a list": (
        ["ids.extend([PAD] * (LENGTH - len(ids)))", "mask = [1] * len(ids)"],
        "`[int(token != PAD) for token in ids]`",
    ),
}
RIGHT = {
    "before": [ZEROS, SLICE, WHILE, CUT],
    "a list that is padded": [
        "mask = [1] * len(ids)",
        ADDED,
        "mask += [0] * (LENGTH - len(mask))",
    ],
    "the length before": ["n = len(ids)", ADDED, ZEROS, "mask[:n] = 1"],
    "another list": ["raw = list(ids)", ADDED, ZEROS, "mask[:len(raw)] = 1"],
    "drawn tokens": [
        "while len(ids) < LENGTH:\n        ids.append(random.randrange(1, 20))",
        "mask = [1] * len(ids)",
    ],
    "of the tokens": [ADDED, "mask = [int(i != PAD) for i in ids]"],
}


@pytest.mark.parametrize("name", WRONG)
def test_masks_behind_the_padding_are_told(tmp_path: Path, name: str) -> None:
    lines, edit = WRONG[name]
    text = SCRIPT.format(lines="\n    ".join(lines))
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "mask-axis"]
    assert [fix.message for fix in finding.fixes if fix.checked] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_masks_of_tokens_are_quiet(tmp_path: Path, name: str) -> None:
    text = SCRIPT.format(lines="\n    ".join(RIGHT[name]))
    assert "mask-axis" not in {f.code for f in rehearsed(tmp_path, text).findings}
