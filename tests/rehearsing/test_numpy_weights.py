"""Weights that numpy draws in float64, for data in float32."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import numpy as np
import torch
from torch import nn

first = {first}
second = {second}
for weight in (first, second):
    weight.requires_grad_()
for step in range(2):
    x = {data}
    hidden = torch.relu(torch.matmul(x, first))
    loss = torch.matmul(hidden, second).mean()
    loss.backward()
"""
DRAWN = "torch.tensor(np.random.normal(0, 0.1, ({sizes})))"
TYPED = "torch.tensor(np.random.normal(0, 0.1, ({sizes})), dtype=torch.float32)"
TAKEN = "torch.from_numpy(np.random.randn({sizes}))"
DATA = "torch.rand(8, 6)"


def find_errors(
    folder: Path, form: str, other: str = "", data: str = DATA
) -> list[Finding]:
    first, second = form.format(sizes="6, 5"), (other or form).format(sizes="5, 2")
    text = PROGRAM.format(first=first, second=second, data=data)
    return [f for f in rehearsed(folder, text).findings if f.severity == "error"]


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (DRAWN, "`dtype=torch.float32` in both calls of `torch.tensor`"),
        (TAKEN, "`.float()` behind both calls of `torch.from_numpy`"),
    ],
)
def test_all_weights_are_float32(form: str, shown: str, tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, form)
    assert finding.fixes[0].message == shown
    assert finding.fixes[0].checked


def test_one_weight_is_float32_beside_one_that_is(tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, DRAWN, TYPED)
    assert finding.fixes[0].message == (
        "`torch.tensor(np.random.normal(0, 0.1, (6, 5)), dtype=torch.float32)`"
    )


@pytest.mark.parametrize(
    ("form", "data"), [(TYPED, DATA), (DRAWN, "torch.rand(8, 6, dtype=torch.float64)")]
)
def test_weights_of_the_data_are_left(form: str, data: str, tmp_path: Path) -> None:
    assert not find_errors(tmp_path, form, data=data)


def test_data_in_float64_are_no_weights(tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, TYPED, data=DRAWN.format(sizes="8, 6"))
    assert "float32 in both" not in finding.fixes[0].message
