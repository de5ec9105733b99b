"""Results that are stored under each other's names."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
shown = {{}}
history = {{"train_loss": [], "val_loss": []}}
for _ in range(4):
    real, fake = torch.randn(8, 4), torch.randn(8, 4)
    lossReal = F.softplus(-net(real)).mean()
    lossFake = F.softplus(net({of_fake})).mean()
    optimizer.zero_grad()
    (lossReal + lossFake).backward()
    optimizer.step()
    train_loss, val_loss = lossReal.item(), lossFake.item()
    acc, loss = (net(real) > 0).float().mean().item(), lossReal.item()
{stored}
print(shown, history)
"""
WRONG = {
    "keys": 'shown["loss_D_real"] = lossFake.item()\n'
            'shown["loss_D_fake"] = lossReal.item()',
    "a dict": 'shown = {"real": lossFake.item(), "fake": lossReal.item()}',
    "arguments": "shown = dict(real=lossFake.detach(), fake=lossReal.detach())",
    "lists": 'history["train_loss"].append(val_loss)\n'
             'history["val_loss"].append(train_loss)',
    "a loss and an accuracy": 'shown = {"loss": acc, "acc": loss}',
}  # fmt: skip
RIGHT = {
    "their own names": 'shown["loss_D_real"] = lossReal.item()\n'
                       'shown["loss_D_fake"] = lossFake.item()',
    "one of two": 'shown["loss_D_real"] = lossFake.item()\n'
                  'shown["loss_D"] = lossReal.item()',
    "both": 'shown = {"real": lossFake.item(), "fake": lossReal.item(),'
            ' "loss_real": lossReal.item()}',
    "labels": 'labels = {"real": fake, "fake": real}',
    "two words": 'shown = {"real_fake": lossFake.item(), "fake_real": lossReal.item()}',
}  # fmt: skip


def list_findings(folder: Path, stored: str, of_fake: str = "fake") -> list[Finding]:
    """Return what is said of arguments and results at another's place."""
    text = SCRIPT.format(stored=indent(stored, "    "), of_fake=of_fake)
    findings = rehearsed(folder, text).findings
    return [found for found in findings if found.code == "misplaced-argument"]


@pytest.mark.parametrize("name", WRONG)
def test_exchanged_results_are_found(name: str, tmp_path: Path) -> None:
    (finding,) = list_findings(tmp_path, WRONG[name])
    assert "they stand at the place of each other" in finding.message
    (fix,) = [fix for fix in finding.fixes if fix.checked]
    assert fix.message.endswith("exchanged")


@pytest.mark.parametrize("name", RIGHT)
def test_other_results_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_findings(tmp_path, RIGHT[name]) == []


def test_a_result_of_what_its_place_says_is_quiet(tmp_path: Path) -> None:
    assert list_findings(tmp_path, WRONG["keys"], of_fake="real + 1") == []
