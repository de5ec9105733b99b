"""Labels beyond the classes of a loss: drawn from 1 on, or of more classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{constant}

class Net(nn.Module):
    def __init__(self{parameter}):
        super().__init__()
        self.out = nn.Linear(5, {outputs})

    def forward(self, x):
        return self.out(x)


x = torch.randn(64, 5)
y = {labels}
model = Net({argument})
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
for a, b in loader:
    scores = model(a)
    loss = nn.functional.cross_entropy(scores, b)
    loss.backward()
    {after}
"""
NAMES = "NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']"
PARTS = {
    "constant": NAMES, "parameter": "", "outputs": "10", "argument": "", "after": "",
}  # fmt: skip
COMPARED = "print((scores.argmax(1) == b).sum())"


def list_fixes(folder: Path, **parts: str) -> list[str]:
    """Return the tried fixes of the only error."""
    findings = rehearsed(folder, PROGRAM.format(**PARTS | parts)).findings
    (finding,) = [finding for finding in findings if finding.severity == "error"]
    assert "reads classes 0 to 9 of `scores`" in finding.message
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize(
    "labels",
    [
        "torch.randint(0, 12, (64,))",
        "torch.randint(12, (64,))",
        "torch.from_numpy(np.random.randint(0, 12, size=64))",
        "torch.tensor([k % 12 for k in range(64)])",
        pytest.param("torch.randint(0, len(NAMES), (64,))", marks=pytest.mark.long),
        "torch.arange(64) % 12",
        pytest.param("(torch.arange(64) * 7) % 12", marks=pytest.mark.long),
    ],
)
def test_a_model_gets_as_many_outputs_as_there_are_classes(
    labels: str, tmp_path: Path
) -> None:
    assert list_fixes(tmp_path, labels=labels) == ["`nn.Linear(5, 12)`"]


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        ({"constant": "NUM_CLASSES = 10", "outputs": "NUM_CLASSES"}, "NUM_CLASSES"),
        ({"parameter": ", num_classes=10", "outputs": "num_classes"}, "num_classes"),
    ],
)
def test_the_number_of_classes_is_changed_where_it_is_written(
    parts: dict[str, str], fix: str, tmp_path: Path
) -> None:
    labels = "torch.randint(0, 12, (64,))"
    assert list_fixes(tmp_path, labels=labels, **parts)[0] == f"`{fix} = 12`"


@pytest.mark.parametrize(
    "labels",
    [
        "torch.randint(1, 11, (64,))",
        pytest.param(
            "torch.randint(low=1, high=11, size=(64,))", marks=pytest.mark.long
        ),
    ],
)
def test_labels_drawn_from_1_are_shifted_and_get_no_class_more(
    labels: str, tmp_path: Path
) -> None:
    for after, edit in (("", "b - 1"), (COMPARED, f"{labels} - 1")):
        text = PROGRAM.format(**PARTS | {"labels": labels, "after": after})
        findings = rehearsed(tmp_path, text).findings
        (finding,) = [f for f in findings if f.severity != "note"]
        assert finding.code in ("drawn-index", "index-out-of-range")
        assert [fix.message for fix in finding.fixes if fix.checked] == [f"`{edit}`"]


def test_labels_drawn_from_1_to_the_number_of_classes(tmp_path: Path) -> None:
    labels = "torch.randint(1, CLASSES + 1, (64,))"
    parts = {"labels": labels, "constant": "CLASSES = 10", "outputs": "CLASSES"}
    assert list_fixes(tmp_path, **parts) == ["`b - 1`"]


def test_labels_that_the_loss_gets_one_lower_are_in_range(tmp_path: Path) -> None:
    program = PROGRAM.format(**PARTS | {"labels": "torch.randint(1, 11, (64,))"})
    text = program.replace("cross_entropy(scores, b)", "cross_entropy(scores, b - 1)")
    findings = rehearsed(tmp_path, text).findings
    assert not [f for f in findings if f.code in ("drawn-index", "index-out-of-range")]


WORDS = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding({rows}, 8)
        self.lstm = nn.LSTM(8, 16, batch_first=True)
        self.head = nn.Linear(16, {outputs})

    def forward(self, ids):
        out, (h, c) = self.lstm(self.embedding(ids))
        return self.head({read})


ids = torch.from_numpy(np.random.randint(0, 100, (64, 7)))
y = torch.{labels}
net, criterion = Net(), nn.{loss}()
for a, b in DataLoader(TensorDataset(ids, y), batch_size=16):
    criterion(net(a), b).backward()
"""
OF_WORDS = {
    "rows": "100", "outputs": "3", "read": "h[-1]", "loss": "CrossEntropyLoss",
    "labels": "randint(0, 3, (64,))",
}  # fmt: skip
REGRESSION = {"outputs": "1", "loss": "MSELoss", "labels": "randn(64)"}


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        ({"rows": "80"}, "`nn.Embedding(100, 8)`"),
        ({"labels": "randint(0, 90, (64,))"}, "`nn.Linear(16, 90)`"),
        ({"read": "out"}, "`out[:, -1]`"),
        ({"read": "h"}, "`h[-1]` for `h`"),
        (REGRESSION | {"read": "h"}, "`h[-1]` for `h` and `net(a).squeeze(-1)`"),
        (REGRESSION | {"read": "out"}, "`out[:, -1]` and `net(a).squeeze(-1)`"),
    ],
)
def test_rows_outputs_and_the_last_step_of_a_text(
    parts: dict[str, str], fix: str, tmp_path: Path
) -> None:
    findings = rehearsed(tmp_path, WORDS.format(**OF_WORDS | parts)).findings
    finding = next(f for f in findings if f.severity != "note")
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [fix]


TWO_ERRORS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(16 * 16 * 16, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x)))
        return self.fc(x.view(x.size(0), -1))


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = TensorDataset(torch.randn(100, 3, 32, 32), torch.randint(LOW, HIGH, (100,)))
for x, y in DataLoader(data, batch_size=32):
    loss = nn.CrossEntropyLoss()(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("low", "high", "label"),
    [("1", "11", "`y - 1`"), ("0", "12", "`nn.Linear(16 * 15 * 15, 12)`")],
)
def test_labels_behind_an_error_of_features(
    low: str, high: str, label: str, tmp_path: Path
) -> None:
    text = TWO_ERRORS.replace("LOW", low).replace("HIGH", high)
    first, second = rehearsed(tmp_path, text).findings
    assert first.fixes[0].message == "`nn.Linear(16 * 15 * 15, 10)`"
    assert all(", 0)" not in fix.message for fix in first.fixes)  # no kernel
    assert [fix.message for fix in second.fixes] == [label]
