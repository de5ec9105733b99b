"""Averages that take the wrong share or the wrong dim, beside legal programs."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6))
model, step, decay, rest = nn.Linear(6, 4), 0, 0.99, 0.01
average = copy.deepcopy(model).requires_grad_(False)
shadow = {{name: p.detach().clone() for name, p in model.named_parameters()}}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(data, batch_size=8):
    z = model(x)
    loss = z.square().mean()
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
{update}
"""
PAIRS = "for s, p in zip(average.parameters(), model.parameters()):\n    "
NAMES = "for name, p in model.named_parameters():\n    "
SWAPPED = {
    "in place": PAIRS + "s.mul_(1 - decay).add_(p.data, alpha=decay)",
    "a product": PAIRS + "s.mul_(1 - decay)\n    s.add_(decay * p.detach())",
    "copied": PAIRS + "s.copy_((1 - decay) * s + decay * p.detach())",
    "data": PAIRS + "s.data = (1 - decay) * s.data + decay * p.data",
    "a dict": NAMES + "shadow[name] = decay * p.data + (1 - decay) * shadow[name]",
    "lerp": PAIRS + "s.lerp_(p.detach(), decay)",
    "two statements": PAIRS + "s.mul_(1 - decay); s.add_(p.detach(), alpha=decay)",
    "the rest named": PAIRS + "s.data.mul_(rest).add_(p.data, alpha=1 - rest)",
}
KEPT = {
    "in place": PAIRS + "s.mul_(decay).add_(p.data, alpha=1 - decay)",
    "copied": PAIRS + "s.copy_(decay * s + (1 - decay) * p.detach())",
    "a dict": NAMES + "shadow[name] = (1 - decay) * p.data + decay * shadow[name]",
    "lerp": PAIRS + "s.lerp_(p.detach(), 1 - decay)",
    "a copy": PAIRS + "s.copy_(p.detach())",
    "warming up":
        PAIRS + "d = min(decay, step / (step + 19))\n"
        "    s.mul_(d).add_(p.data, alpha=1 - d)",
    "once":
        "if step == 1:\n"
        "    for s, p in zip(average.parameters(), model.parameters()):\n"
        "        s.mul_(0.05).add_(p.data, alpha=0.95)",
    "the model itself":
        PAIRS + "p.data.mul_(0.05).add_(s, alpha=0.95)",
    "half": PAIRS + "s.mul_(0.5).add_(p.data, alpha=0.5)",
    "soft": PAIRS + "s.data.mul_(1 - rest).add_(p.data, alpha=rest)",
    "copied by lerp": PAIRS + "s.lerp_(p.detach(), 1.0)",
    "gradients": PAIRS + "s.mul_(rest).add_(p.grad, alpha=1 - rest)",
}  # fmt: skip
ROWS = {
    "by a method":
        "c = z - z.mean(1, keepdim=True)\nloss = (c.t() @ c / 7).square().mean()",
    "by a function":
        "c = torch.mean(z, dim=1, keepdim=True) - z\n"
        "loss = torch.matmul(torch.transpose(c, 0, 1), c).square().mean()",
}  # fmt: skip
FEATURES = {
    "over samples":
        "c = z - z.mean(0, keepdim=True)\nloss = (c.t() @ c / 7).square().mean()",
    "similarities of samples":
        "c = z - z.mean(1, keepdim=True)\nloss = (c @ c.t()).square().mean()",
    "a centred kernel":
        "c = z - z.mean(0)\nloss = (c @ c.t()).square().mean()",
    "both": "c = z - z.mean(0)\nc = c - c.mean(1, keepdim=True)\n"
            "loss = (c.t() @ c).square().mean()",
    "data": "c = x - x.mean(1, keepdim=True)\n"
            "loss = loss + (c.t() @ c).square().mean()",
}  # fmt: skip


def find_codes(folder: Path, body: str = "", update: str = "") -> list[str]:
    text = SCRIPT.format(body=indent(body, "    "), update=indent(update, "    "))
    report = rehearsed(folder, text)
    assert report.complete, report
    wanted = "decay-swapped", "centred-axis"
    return [f.code for f in report.findings if f.code in wanted]


@pytest.mark.parametrize("name", SWAPPED)
def test_an_average_that_forgets_is_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, update=SWAPPED[name]) == ["decay-swapped"]


@pytest.mark.parametrize("name", KEPT)
def test_averages_that_keep_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, update=KEPT[name]) == []


@pytest.mark.parametrize("name", ROWS)
def test_a_covariance_of_centred_rows_is_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, ROWS[name]) == ["centred-axis"]


@pytest.mark.parametrize("name", FEATURES)
def test_other_products_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, FEATURES[name]) == []


SWAPPED_EDITS = {
    "in place": "`decay` and `1 - decay` swapped",
    "a product": "`decay` and `1 - decay` swapped",
    "copied": "`decay` and `1 - decay` swapped",
    "data": "`decay` and `1 - decay` swapped",
    "a dict": "`decay` and `1 - decay` swapped",
    "two statements": "`decay` and `1 - decay` swapped",
    "the rest named": "`rest` and `1 - rest` swapped",
    "lerp": "`1 - decay` as weight",
}


@pytest.mark.parametrize("name", SWAPPED_EDITS)
def test_the_factors_are_swapped(name: str, tmp_path: Path) -> None:
    text = SCRIPT.format(body="", update=indent(SWAPPED[name], "    "))
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == SWAPPED_EDITS[name]
    assert finding.fixes[0].checked
    assert finding.fixes[0].edits


def test_the_mean_is_taken_over_the_samples(tmp_path: Path) -> None:
    text = SCRIPT.format(body=indent(ROWS["by a method"], "    "), update="")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == "the mean over dim 0"
    assert finding.fixes[0].checked
