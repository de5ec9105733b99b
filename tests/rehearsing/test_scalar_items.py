"""Actions that an environment indexes, of which a squeeze took the dim."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn


class Cart:
    def __init__(self, seed):
        self.draw = np.random.RandomState(seed)
        self.place = self.draw.uniform(-1, 1)

    def step(self, action):
        force = np.clip(action, -2, 2){index}
        self.place = 0.9 * self.place + force
        return np.array([self.place, force], dtype=np.float32)


carts = [Cart(seed) for seed in range(3)]
policy = nn.Linear(2, 1)
state = torch.zeros(3, 2)
for _ in range(2):
    actions = policy(state).detach()
    rows = {taken}.numpy()
    state = torch.from_numpy(np.stack([c.step(a) for c, a in zip(carts, rows)]))
"""


def _find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity != "warning"]


@pytest.mark.parametrize(
    "method", [".squeeze(1)", ".squeeze()", ".flatten()", ".view(-1)", ".reshape(-1)"]
)
def test_the_dim_of_an_action_is_kept(method: str, tmp_path: Path) -> None:
    text = SCRIPT.format(index="[0]", taken=f"actions{method}")
    (finding,) = _find_errors(tmp_path, text)
    assert finding.severity == "error"
    assert f"`actions{method}` took the dim of each row, (3,) of (3, 1)" in (
        finding.message
    )
    assert [fix.message for fix in finding.fixes] == [f"`actions` without `{method}`"]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("index", "taken"), [("[0]", "actions"), ("", "actions.squeeze(1)")]
)
def test_what_fits_is_quiet(index: str, taken: str, tmp_path: Path) -> None:
    assert not _find_errors(tmp_path, SCRIPT.format(index=index, taken=taken))


def test_a_sum_of_features_is_no_dim_of_one(tmp_path: Path) -> None:
    text = SCRIPT.format(index="[0]", taken="actions.sum(1)")
    for finding in _find_errors(tmp_path, text):
        assert all("without" not in fix.message for fix in finding.fixes)
