"""Models that `torch.save` cannot pickle, and those that it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import pickle
import torch
from torch import nn

def double(x):
    return 2 * x

class Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = scale
    def forward(self, x):
        return self.scale(self.linear(x))

def build():
    def triple(x):
        return 3 * x
    class Inner(nn.Linear):
        pass
    return triple, Inner(4, 4)

triple, inner = build()
model = {model}
model(torch.randn(2, 4)).sum().backward()
{save}
"""
WRONG = {
    "a lambda": ("Scaled(lambda x: 2 * x)", "<lambda>"),
    "a local function": ("Scaled(triple)", "build.<locals>.triple"),
    "a local class": ("nn.Sequential(inner)", "build.<locals>.Inner"),
}
RIGHT = {
    "a function": ("Scaled(double)", "torch.save(model, 'model.pt')"),
    "a layer": ("Scaled(nn.ReLU())", "torch.save(model, 'model.pt')"),
    "states": ("Scaled(triple)", "torch.save(model.state_dict(), 'model.pt')"),
    "everything": (
        "Scaled(torch.relu)",
        "optimizer = torch.optim.Adam(model.parameters())\n"
        "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n"
        "torch.save({'model': model, 'optimizer': optimizer.state_dict(),\n"
        "            'schedule': schedule.state_dict()}, 'model.pt')",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_pickled_is_told(name: str, tmp_path: Path) -> None:
    model, part = WRONG[name]
    text = SCRIPT.format(model=model, save="torch.save(model, 'model.pt')")
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert part in finding.message
    assert finding.fixes[0].message == "`model.state_dict()`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_what_can_be_pickled_is_quiet(name: str, tmp_path: Path) -> None:
    model, save = RIGHT[name]
    report = rehearsed(tmp_path, SCRIPT.format(model=model, save=save))
    assert report.ok, report


LOADED = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

net = Net()
torch.save(net.state_dict(), "net.pt")
{line}
model.eval()
print(model(torch.rand(3, 4)).shape)
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("model = Net().load_state_dict(torch.load('net.pt'))",
         "model = Net()\nmodel.load_state_dict(torch.load('net.pt'))"),
        ("model = net.load_state_dict(torch.load('net.pt'))",
         "net.load_state_dict(torch.load('net.pt'))\nmodel = net"),
        ("model = Net()\nmodel = model.load_state_dict(torch.load('net.pt'))",
         "model.load_state_dict(torch.load('net.pt'))"),
    ],
)  # fmt: skip
def test_a_model_that_is_loaded_keeps_its_name(
    line: str, new: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, LOADED.format(line=line))
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert [edit.text for edit in finding.fixes[0].edits] == [new]
    assert finding.fixes[0].checked
