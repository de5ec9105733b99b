"""Slices that cut the keys of a state dict at another place than the model needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 3)
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.stem(x))

class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.{name} = Net()

def load(state):
    model = Net()
{body}
    return model

load(Learner().state_dict())(torch.randn(2, 4))
"""
LOOP = """\
    new = {{}}
    for key, value in state.items():
        new[key[{count}:]] = value
    model.load_state_dict(new)
"""
COMPREHENSION = (
    "    model.load_state_dict({{k[{count}:]: v for k, v in state.items()}})"
)
NAMED = """\
    new = {{}}
    for k in state.keys():
        name = k[{count}:]
        new[name] = state[k]
    model.load_state_dict(new)
"""


def find_errors(
    folder: Path, form: str, count: int, name: str = "network"
) -> list[Finding]:
    text = PROGRAM.replace("{name}", name).replace("{body}", form.format(count=count))
    return [f for f in rehearsed(folder, text).findings if f.severity == "error"]


@pytest.mark.parametrize(
    ("form", "count", "shown", "words"),
    [
        (LOOP, 3, "`key[8:]`", "`key[3:]` cuts 3 characters of each key and leaves"),
        (COMPREHENSION, 7, "`k[8:]`", "those of `Net` begin behind 8"),
        (NAMED, 5, "`k[8:]`", "`k[5:]` cuts 5 characters of each key and leaves"),
    ],
)
def test_the_slice_is_moved(
    form: str, count: int, shown: str, words: str, tmp_path: Path
) -> None:
    (finding,) = find_errors(tmp_path, form, count)
    assert finding.fixes[0].message == shown
    assert finding.fixes[0].checked
    assert any(words in place.message for place in finding.related)


def test_a_slice_that_fits_stays(tmp_path: Path) -> None:
    assert not find_errors(tmp_path, LOOP, 8)


def test_a_slice_of_something_else_stays(tmp_path: Path) -> None:
    body = "    rows = [row[3:] for row in ['a.b.c']]\n    model.load_state_dict(state)"
    (finding,) = find_errors(tmp_path, body, 0)
    assert "row[" not in finding.fixes[0].message
