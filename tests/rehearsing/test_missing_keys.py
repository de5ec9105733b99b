"""Keys that the output of a model lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width, aux=False):
        super().__init__()
        self.body, self.head = nn.Linear(4, width), nn.Linear(width, 3)
        {kept}

    def forward(self, x):
        x = self.body(x)
        out = {{"logits": self.head(x)}}
        if {test}:
            out["aux"] = self.{head}(x)
        return out

net = Net({arguments})
for _ in range(2):
    outputs = net(torch.randn(5, 4))
    loss = outputs["{first}"].mean() + {second}
    loss.backward()
"""
FLAG = ("self.aux = aux", "self.aux", "head")
HEAD = ("self.extra = nn.Linear(width, 3) if aux else None", "self.extra", "extra")
AUX = 'outputs["aux"].mean()'
MISTAKES = {
    "a flag": (FLAG, "8", "logits", AUX, "`Net(8, aux=True)`"),
    "a flag that is off": (FLAG, "8, aux=False", "logits", AUX, "`aux=True`"),
    "a flag by its place": (FLAG, "8, False", "logits", AUX, "`aux=True`"),
    "a layer under a flag": (HEAD, "8", "logits", AUX, "`Net(8, aux=True)`"),
    "another spelling": (FLAG, "8, aux=True", "logit", AUX, '`outputs["logits"]`'),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_keys_that_are_there_are_listed(name: str, tmp_path: Path) -> None:
    (kept, test, head), arguments, first, second, fix = MISTAKES[name]
    text = PROGRAM.format(
        kept=kept, test=test, head=head, arguments=arguments, first=first, second=second
    )
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.message.startswith("`outputs` has no key")
    assert "`Net` gives `logits`" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_a_key_that_nothing_is_near(tmp_path: Path) -> None:
    kept, test, head = FLAG
    text = PROGRAM.format(
        kept=kept, test=test, head=head, arguments="8", first="boxes", second="0"
    )
    finding = next(f for f in rehearsed(tmp_path, text).findings)
    assert finding.message == "`outputs` has no key `boxes`: `Net` gives `logits`"
    assert not finding.fixes


def test_a_key_of_settings_is_no_matter_of_a_model(tmp_path: Path) -> None:
    finding = rehearsed(tmp_path, 'settings = {"lr": 1}\nsettings["rate"]').findings[0]
    assert finding.message == "`KeyError`: 'rate'"
