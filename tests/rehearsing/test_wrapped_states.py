"""State dicts of what is wrapped around a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINED = """\
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

def build():
    return nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))

net = build()
wrapped = {wrapped}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
wrapped(torch.rand(8, 6)).sum().backward()
opt.step()
final = build()
{load}
"""
DIRECT = "final.load_state_dict(wrapped.state_dict())"
NAMED = "state = wrapped.state_dict()\nfinal.load_state_dict(state)"
SAVED = """\
torch.save(wrapped.state_dict(), "m.pt")
final.load_state_dict(torch.load("m.pt"))
"""
AVERAGE = "AveragedModel(net)"


@pytest.mark.parametrize(
    ("wrapped", "load", "inner"),
    [
        (AVERAGE, DIRECT, "module"),
        (AVERAGE, NAMED, "module"),
        (AVERAGE, SAVED, "module"),
        ("torch.optim.swa_utils.AveragedModel(net, device='cpu')", DIRECT, "module"),
        ("nn.DataParallel(net)", DIRECT, "module"),
        ("nn.DataParallel(net)", NAMED, "module"),
        ("torch.compile(net)", DIRECT, "_orig_mod"),
    ],
)
def test_the_state_is_that_of_the_model_inside(
    wrapped: str, load: str, inner: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, TRAINED.format(wrapped=wrapped, load=load))
    (finding,) = (f for f in report.findings if f.severity == "error")
    (fix,) = finding.fixes
    assert fix.message == f"`wrapped.{inner}.state_dict()`"
    assert fix.checked
    assert ("of an `AveragedModel`" in finding.message) == ("Averaged" in wrapped)


def test_a_file_of_several_devices_has_its_keys_renamed(tmp_path: Path) -> None:
    text = TRAINED.format(wrapped="nn.DataParallel(net)", load=SAVED)
    (finding,) = (
        f for f in rehearsed(tmp_path, text).findings if f.severity == "error"
    )
    assert 'removeprefix("module.")' in finding.fixes[0].message


@pytest.mark.parametrize(
    "load",
    [
        "final.load_state_dict(wrapped.module.state_dict())",
        "AveragedModel(final).load_state_dict(wrapped.state_dict())",
    ],
)
def test_states_that_fit_are_quiet(load: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, TRAINED.format(wrapped=AVERAGE, load=load))
    assert not any(f.severity == "error" for f in report.findings)
