"""Running means to which the share of a batch is added, and does not multiply it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Running:
    def __init__(self):
        self.mean, self.count = torch.zeros(4), 1e-4

    def update(self, x):
        batch, n = x.mean(dim=0), x.shape[0]
        {body}
        self.count = self.count + n


running = Running()
layer = nn.Linear(4, 4)
for _ in range(3):
    with torch.no_grad():
        running.update(layer(torch.randn(8, 4)))
print(running.mean.shape)
"""
PARTS = "delta = batch - self.mean\n        total = self.count + n\n        "
WRONG = {
    "assigned": (
        PARTS + "self.mean = self.mean + delta + n / total",
        "`self.mean + delta * n / total`",
    ),
    "in steps": (
        "mean = self.mean\n        total = n + self.count\n"
        "        delta = batch - mean\n        new = mean + delta + n / total\n"
        "        self.mean = new",
        "`mean + delta * n / total`",
    ),
}
RIGHT = {
    "multiplied": PARTS + "self.mean = self.mean + delta * n / total",
    "a weighted mean": PARTS
    + "self.mean = (self.mean * self.count + batch * n) / total",
    "another difference": "delta = batch - batch.mean()\n"
                          "        total = self.count + n\n"
                          "        self.mean = self.mean + delta + n / total",
    "another number": PARTS + "self.mean = self.mean + delta + 1 / total",
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_mean_that_cancels_is_told(case: str, tmp_path: Path) -> None:
    body, fix = WRONG[case]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=body)).findings
    assert finding.code == "decay-swapped"
    assert [each.message for each in finding.fixes if each.checked] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_means_that_keep_what_they_were_are_quiet(case: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=RIGHT[case]))
    assert report.complete
    assert not report.findings
