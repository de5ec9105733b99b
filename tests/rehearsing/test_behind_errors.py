"""First drafts with several mistakes: what stands behind an error is told as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from shapewright.program.spans import apply_edits
from tests.rehearsing.rehearsed import rehearsed

DRAFT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 3, 8), torch.randn(40))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, batch_first=True)
        self.head = nn.Linear(FEATURES, 1)

    def forward(self, x, state):
        out, state = self.lstm(x, state)
        return self.head(out[:, -1]), state


net, criterion, state = Net(), nn.MSELoss(), None
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(3):
    for x, y in DataLoader(data, batch_size=8):
        CLEARED
        out, state = net(x, state)
        STATE
        loss = criterion(OUT, y)
        loss.backward()
        optimizer.step()
"""
RIGHT = {
    "FEATURES": "16",
    "CLEARED": "optimizer.zero_grad()",
    "STATE": "state = tuple(part.detach() for part in state)",
    "OUT": "out.squeeze(1)",
}
WRONG = {"FEATURES": "24", "CLEARED": "pass", "STATE": "pass", "OUT": "out"}
CODES = {
    "FEATURES": "inner-dim-mismatch",
    "STATE": "graph-freed",
    "OUT": "outer-broadcast",
    "CLEARED": "gradients-not-cleared",
}
PLACES = {
    "FEATURES": "return self.head",
    "STATE": "loss.backward()",
    "OUT": "loss = criterion",
    "CLEARED": "loss.backward()",
}


def write_draft(*mistakes: str) -> str:
    text = DRAFT
    for name, part in RIGHT.items():
        text = text.replace(name, WRONG[name] if name in mistakes else part)
    return text


def find(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity != "note"]


@pytest.mark.parametrize(
    "mistakes",
    [
        ("FEATURES",),
        ("FEATURES", "CLEARED"),
        pytest.param(("FEATURES", "OUT"), marks=pytest.mark.long),
        ("STATE", "CLEARED"),
        pytest.param(("FEATURES", "STATE", "OUT"), marks=pytest.mark.long),
        pytest.param(("FEATURES", "STATE", "OUT", "CLEARED"), marks=pytest.mark.long),
    ],
)
def test_each_mistake_of_a_draft_is_told_at_its_line(
    mistakes: tuple[str, ...], tmp_path: Path
) -> None:
    text = write_draft(*mistakes)
    findings = find(tmp_path, text)
    assert {each.code for each in findings} == {CODES[name] for name in mistakes}
    lines = text.splitlines()
    for name in mistakes:
        each = next(found for found in findings if found.code == CODES[name])
        assert PLACES[name] in lines[each.line - 1]
        assert each.fixes
        assert each.fixes[0].checked


def test_the_first_fixes_of_a_draft_together_leave_nothing(tmp_path: Path) -> None:
    text = write_draft("FEATURES", "OUT")
    edits = [
        (edit.span, edit.text)
        for each in find(tmp_path, text)
        for edit in each.fixes[0].edits
    ]
    assert len(edits) == 2
    assert find(tmp_path, apply_edits(text, edits)) == []


def test_what_is_seen_behind_an_error_says_so(tmp_path: Path) -> None:
    *_, last = find(tmp_path, write_draft("FEATURES", "CLEARED"))
    assert last.code == "gradients-not-cleared"
    assert any("with the first fix of each error" in line for line in last.lines)


TWO = """\
import torch
from torch import nn
import torch.nn.functional as F

up, out = nn.ConvTranspose2d(4, 4, 2, stride=2), nn.Conv2d(8, 3, 1)
optimizer = torch.optim.SGD([*up.parameters(), *out.parameters()], lr=0.1)
images, masks = torch.randn(6, 4, 25, 25), torch.randint(0, 3, (6, 1, 25, 25))
for _ in range(3):
    small = F.max_pool2d(images, 2)
    joined = torch.cat([up(small), images], dim=1)
    scores = out(joined).softmax(1)
    loss = F.cross_entropy(scores, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_an_error_of_open_sizes_is_mended_with_the_fix_of_the_first(
    tmp_path: Path,
) -> None:
    first, second, third = find(tmp_path, TWO)
    assert first.code == "joined-sizes-differ"
    assert first.fixes[0].checked
    assert "(6, 25, 25), got `masks` (6, 1, 25, 25)" in second.message
    assert [fix.message for fix in second.fixes] == ["`masks.squeeze(1)`"]
    assert third.code == "loss-input"
    assert "softmax" in third.message


ENDED = """\
import torch

q_values, actions = torch.randn(8, 3, requires_grad=True), torch.rand(8, 1)
chosen = q_values.gather(1, actions)
best = 0.9 * q_values.max(1)
(best - chosen.squeeze(1)).pow(2).mean().backward()
"""


def test_a_fix_is_shown_that_comes_to_an_error_without_one(tmp_path: Path) -> None:
    first, second = find(tmp_path, ENDED)
    assert first.fixes[0].message == "`actions.long()`"
    assert second.line == 5


PAIR = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 3)

    def forward(self, x):
        hidden = torch.relu(self.body(x))
        return self.head(hidden), hidden


net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters())
data = TensorDataset(torch.randn(40, 8), torch.zeros(40))
for x, y in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    optimizer.step()
"""


def test_a_call_that_fails_in_another_way_is_told_twice(tmp_path: Path) -> None:
    first, second = find(tmp_path, PAIR)
    assert "all that `Net` returns" in first.message
    assert first.fixes[0].message == "`net(x)[0]`"
    assert second.code == "dtype-mismatch"
    assert first.line == second.line
    assert second.fixes[0].message == "`y.long()`"


LABELS = """\
import torch
from torch import nn

net = nn.Linear(8, 2)
x, y = torch.rand(16, 8), (torch.arange(16) % 5).float()
nn.CrossEntropyLoss()(net(x), y).backward()
"""


def test_an_error_with_words_of_a_fix_says_where_it_was_seen(tmp_path: Path) -> None:
    first, second = rehearsed(tmp_path, LABELS).findings
    assert first.fixes[0].message == "`y.long()`"
    assert "`y.long()` holds" in second.message or "`y.long()` at" in second.message
    seen = "seen in a run with fixes of the errors above"
    assert (seen in first.lines, seen in second.lines) == (False, True)
