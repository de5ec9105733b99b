"""What belongs to the module inside a wrapper, which only forwards calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.head = nn.Linear(8, 3)

    def embed(self, x):
        return F.normalize(self.body(x), dim=1)

    def forward(self, x):
        return self.head(self.embed(x))

{wrapped}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
    optimizer.step()
{used}
"""
PLAIN = "model = nn.DataParallel(Net())"
BELOW = """\
model = Net()
nn.init.zeros_(model.head.bias)
model = nn.DataParallel(model)"""
AT_TIMES = """\
model = Net()
if 6 > 1:
    model = nn.DataParallel(model)"""
AVERAGED = "model = torch.optim.swa_utils.AveragedModel(Net())"
EMBEDDED = """\
with torch.no_grad():
    one = {model}.embed(torch.randn(2, 6))
    two = {model}.embed(torch.randn(4, 6))
print((one @ two.T).shape)"""
LAYER = "print({model}.head.weight.shape)"
MISTAKES = {
    "a method": (PLAIN, EMBEDDED, "`model.module.embed`"),
    "a layer": (PLAIN, LAYER, "`model.module.head`"),
    "a layer that was read before": (BELOW, LAYER, "`model.module.head`"),
    "weights that are averaged": (AVERAGED, EMBEDDED, "`model.module.embed`"),
    "under a condition": (
        AT_TIMES, EMBEDDED, '`getattr(model, "module", model).embed`',
    ),
}  # fmt: skip
RIGHT = {
    "inside the wrapper": (PLAIN, EMBEDDED.format(model="model.module")),
    "without a wrapper": ("model = Net()", EMBEDDED.format(model="model")),
    "a compiled module": (
        "model = torch.compile(Net())", LAYER.format(model="model"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_module_inside_is_named(tmp_path: Path, name: str) -> None:
    wrapped, used, fix = MISTAKES[name]
    text = PROGRAM.format(wrapped=wrapped, used=used.format(model="model"))
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "which only forwards calls" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_a_name_that_no_class_has_is_no_matter_of_the_wrapper(tmp_path: Path) -> None:
    text = PROGRAM.format(wrapped=PLAIN, used="print(model.tail.weight)")
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "forwards" not in finding.message
    assert not finding.fixes


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_meant_stays_as_it_is(tmp_path: Path, name: str) -> None:
    wrapped, used = RIGHT[name]
    text = PROGRAM.format(wrapped=wrapped, used=used)
    assert rehearsed(tmp_path, text).findings == ()
