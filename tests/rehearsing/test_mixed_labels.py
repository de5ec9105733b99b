"""Labels that are mixed, smoothed or read as truths, and features that are summed in
the place of the weighted items.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import random
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(6, 5)
score, out = nn.Linear(6, 1), nn.Linear(6, 5)
optimizer = torch.optim.SGD(
    [*model.parameters(), *score.parameters(), *out.parameters()], lr=0.1
)
for _ in range(2):
    x, y = torch.randn(8, 6), torch.randint(0, 5, (8,))
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MIXED = """\
share, order = random.uniform(0.1, 0.4), torch.randperm(8)
mixed = share * x + (1 - share) * x[order]
scores = model(mixed)
loss = {own} * F.cross_entropy(scores, y) + {other} * F.cross_entropy(scores, y[order])
"""
SMOOTHED = """\
eps = 0.1
rows = F.one_hot(y, 5).float() * (1 - eps) + {share}
loss = -(rows * model(x).log_softmax(1)).sum(1).mean()
"""
TRUTHS = """\
p = model(x).{kind}
loss = F.cross_entropy(model(x), y)
print(({read}).float().mean())
"""
ITEMS = """\
items = torch.randn(8, 6, 6)
weights = score(items).squeeze(2).softmax(dim=1)
loss = F.cross_entropy(out({context}), y)
"""
WEIGHED = "(items * weights.unsqueeze(2)).sum({dim})"
WRONG = {
    "shares": (
        MIXED.format(own="(1 - share)", other="share"), "paired-rows",
        "`(1 - share)` and `share` exchanged",
    ),
    "smoothing": (
        SMOOTHED.format(share="eps"), "loss-input",
        "`F.one_hot(y, 5).float() * (1 - eps) + eps / 5`",
    ),
    "truths": (
        TRUTHS.format(kind="sigmoid()", read="p.bool()"), "logit-threshold",
        "`(p > 0.5)`",
    ),
    "whole numbers": (
        TRUTHS.format(kind="softmax(1)", read="p.long()"), "logit-threshold",
        "`(p > 0.5).long()`",
    ),
    "features": (
        ITEMS.format(context=WEIGHED.format(dim="2")), "wrong-axis",
        "`dim=1`",
    ),
}  # fmt: skip
RIGHT = {
    "shares": MIXED.format(own="share", other="(1 - share)"),
    "smoothing": SMOOTHED.format(share="eps / 5"),
    "truths": TRUTHS.format(kind="sigmoid()", read="(p > 0.5).bool()"),
    "pixels": TRUTHS.format(kind="sigmoid()", read="(p * 255).long()"),
    "a mask": TRUTHS.format(kind="relu()", read="p.bool()"),
    "items": ITEMS.format(context=WEIGHED.format(dim="1")),
    "items and features": ITEMS.format(
        context="(items * weights.unsqueeze(2)).sum(2).sum(1)[:, None] * x"
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_mistake_is_found(case: str, tmp_path: Path) -> None:
    body, code, fix = WRONG[case]
    findings = rehearsed(tmp_path, HEAD.format(body=indent(body, "    "))).findings
    assert [finding.code for finding in findings] == [code]
    assert fix in [edit.message for edit in findings[0].fixes]


@pytest.mark.parametrize("case", RIGHT)
def test_the_right_form_is_quiet(case: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD.format(body=indent(RIGHT[case], "    ")))
    assert not report.findings
