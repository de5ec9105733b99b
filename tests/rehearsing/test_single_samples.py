"""One sample where a model had batches: told at the call, mended there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}

    def forward(self, x):
        return {forward}

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randn({data})
for step in range(2):
    loss = net(data).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    print(net(data[0]).shape)  # one
"""
NETS = {
    "an unsqueezed step": (
        "self.rnn = nn.GRU(6, 8, batch_first=True)",
        "self.rnn(x.unsqueeze(1))[0]", "5, 6",
    ),
    "a flatten": (
        "self.fc = nn.Linear(48, 2)", "self.fc(x.flatten(1))", "5, 3, 4, 4",
    ),
    "a view": ("self.fc = nn.Linear(48, 2)", "self.fc(x.view(-1, 48).view(5, 48))"
               " if len(x) == 5 else self.fc(x.flatten(2))", "5, 3, 4, 4"),
    "a norm": ("self.norm = nn.BatchNorm2d(3)", "self.norm(x)", "5, 3, 4, 4"),
}  # fmt: skip


@pytest.mark.parametrize("case", NETS)
def test_one_sample_gets_its_batch_where_the_model_is_called(
    case: str, tmp_path: Path
) -> None:
    layers, forward, data = NETS[case]
    text = SCRIPT.replace("{layers}", layers).replace("{forward}", forward)
    (finding, *more) = rehearsed(tmp_path, text.replace("{data}", data)).findings
    assert not more
    line = 1 + text.splitlines().index("    print(net(data[0]).shape)  # one")
    (place, *_) = finding.related
    assert "is given one sample" in place.message
    assert place.span.line == line
    if case != "a view":
        assert finding.fixes[0].message == "`data[0].unsqueeze(0)`"
        assert finding.fixes[0].checked


def test_no_fix_turns_what_ran_before(tmp_path: Path) -> None:
    """`unsqueeze(0)` in `forward` would make the samples of training the time."""
    layers, forward, data = NETS["an unsqueezed step"]
    text = SCRIPT.replace("{layers}", layers).replace("{forward}", forward)
    (finding,) = rehearsed(tmp_path, text.replace("{data}", data)).findings
    assert not any("x.unsqueeze(0)" in fix.message for fix in finding.fixes)


MADE = """\
import torch
from torch import nn

def make(count):
    return torch.randn(count, 3), torch.randn(count)

class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, groups):
        first = self.fc(groups[0][0])
        return first + torch.cat([self.fc(x) for x, _ in groups])

net = Sum()
groups = [make(3 + 2 * i) for i in range(2)]
net(groups).sum().backward()
"""


def test_numbers_that_only_make_data_are_no_fix(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, MADE).findings
    assert finding.code == "broadcast-mismatch"
    assert not any("make(" in fix.message for fix in finding.fixes)
    assert all(edit.span.line < 16 for fix in finding.fixes for edit in fix.edits)
