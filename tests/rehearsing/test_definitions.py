"""Errors whose cause is the definition of a model, and warnings with their edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

MODEL = """\
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    INIT
    def forward(self, x):
        FORWARD

net = Net()
criterion = LOSS
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x, y = torch.randn(8, 10), TARGET
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PLAIN = """\
def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 5)
"""


def found(
    folder: Path, init: str = PLAIN, forward: str = "return self.fc(x)",
    loss: str = "nn.CrossEntropyLoss()", target: str = "torch.randint(0, 5, (8,))",
) -> list[tuple[str, str]]:  # fmt: skip
    """Code and first checked fix of each finding."""
    text = MODEL.replace("INIT", init.strip()).replace("FORWARD", forward)
    report = rehearsed(folder, text.replace("LOSS", loss).replace("TARGET", target))
    return [
        (each.code, each.fixes[0].message if each.fixes else "")
        for each in report.findings
    ]


LISTED = """\
def __init__(self):
        super().__init__()
        self.layers = []
        for _ in range(2):
            self.layers.append(nn.Linear(10, 10))
"""


def test_layers_in_a_list_leave_nothing_to_train(tmp_path: Path) -> None:
    forward = "return self.layers[1](self.layers[0](x))"
    assert found(tmp_path, LISTED, forward, "nn.MSELoss()", "torch.randn(8, 10)") == [
        ("nothing-to-train", "`nn.ModuleList()`")
    ]


def test_a_misspelt_constructor_is_named(tmp_path: Path) -> None:
    init = PLAIN.replace("def __init__", "def _init_")
    assert found(tmp_path, init) == [
        ("nothing-to-train", "`def __init__` for `def _init_`")
    ]


def test_a_missing_call_of_the_base_class_is_added(tmp_path: Path) -> None:
    init = PLAIN.replace("        super().__init__()\n", "")
    assert found(tmp_path, init) == [
        ("not-a-module-yet", "`super().__init__()` first in `__init__`")
    ]


@pytest.mark.parametrize(
    ("forward", "loss", "target", "fix"),
    [
        ("return F.softmax(self.fc(x), dim=1)", "nn.CrossEntropyLoss()",
         "torch.randint(0, 5, (8,))", "`self.fc(x)`"),
        ("return self.fc(x)", "nn.NLLLoss()", "torch.randint(0, 5, (8,))",
         "`CrossEntropyLoss` for `NLLLoss`"),
        ("return F.softmax(self.fc(x), dim=1)", "nn.NLLLoss()",
         "torch.randint(0, 5, (8,))", "`log_softmax` for `softmax`"),
        ("return torch.sigmoid(self.fc(x))", "nn.BCEWithLogitsLoss()",
         "torch.rand(8, 5)", "`self.fc(x)`"),
        ("return self.fc(x)", "nn.BCELoss()", "torch.rand(8, 5)",
         "`BCEWithLogitsLoss` for `BCELoss`"),
    ],
)  # fmt: skip
def test_a_loss_gets_what_it_expects(
    tmp_path: Path, forward: str, loss: str, target: str, fix: str
) -> None:
    assert found(tmp_path, PLAIN, forward, loss, target) == [("loss-input", fix)]


@pytest.mark.parametrize(
    ("forward", "loss", "target"),
    [
        ("return F.log_softmax(self.fc(x), dim=1)", "nn.NLLLoss()",
         "torch.randint(0, 5, (8,))"),
        ("return torch.log(F.softmax(self.fc(x), dim=1))", "nn.NLLLoss()",
         "torch.randint(0, 5, (8,))"),
        ("return torch.sigmoid(self.fc(x))", "nn.BCELoss()", "torch.rand(8, 5)"),
        ("return self.fc(F.softmax(x, dim=1))", "nn.CrossEntropyLoss()",
         "torch.randint(0, 5, (8,))"),
    ],
)  # fmt: skip
def test_a_loss_that_fits_is_left_alone(
    tmp_path: Path, forward: str, loss: str, target: str
) -> None:
    assert found(tmp_path, PLAIN, forward, loss, target) == []


def test_a_layer_built_in_forward_belongs_into_the_constructor(tmp_path: Path) -> None:
    forward = "return self.fc(nn.Linear(10, 10)(x))"
    assert (
        "built-in-forward", "`self.linear = nn.Linear(10, 10)` in `__init__`",
    ) in found(tmp_path, PLAIN, forward)  # fmt: skip


def test_a_tuple_is_unpacked(tmp_path: Path) -> None:
    init = PLAIN.replace("nn.Linear(10, 5)", "nn.LSTM(10, 5)")
    forward = "out = self.fc(x)\n        return out.relu()"
    first = found(tmp_path, init, forward)[0]
    assert first == ("tuple-as-tensor", "`out, _ = self.fc(x)`")


PARTS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 8), nn.ReLU())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.body(x))

net = Net()
{freezing}
{listing}
for _ in range(2):
    x, y = torch.randn(8, 10), torch.randint(0, 5, (8,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CALLED = "net.body.requires_grad_(False)"
IN_LOOP = "for p in net.body.parameters():\n    p.requires_grad = False"
LISTING = "[p for p in net.{}parameters() if p.requires_grad]"
FILTERED = "filter(lambda p: p.requires_grad, net.{}parameters())"


@pytest.mark.parametrize(
    ("freezing", "listing", "listed"),
    [
        (CALLED, "rows = {}\noptimizer = torch.optim.Adam(rows)", LISTING),
        (IN_LOOP, "optimizer = torch.optim.Adam({})", FILTERED),
        (CALLED, "optimizer = torch.optim.Adam({}, lr=0.1)", LISTING),
        (IN_LOOP, "rows = list({})\noptimizer = torch.optim.Adam(rows)", FILTERED),
    ],
)
def test_the_whole_model_is_listed_for_its_frozen_part(
    tmp_path: Path, freezing: str, listing: str, listed: str
) -> None:
    text = PARTS.format(
        freezing=freezing, listing=listing.format(listed.format("body."))
    )
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.code == "nothing-to-train"
    assert "freezes every parameter of `net.body`" in finding.message
    assert [fix.message for fix in finding.fixes] == [f"`{listed.format('')}`"]
    assert finding.fixes[0].checked


@pytest.mark.parametrize(("part"), ["", "head."])
def test_parameters_that_are_left_may_be_listed(tmp_path: Path, part: str) -> None:
    listing = f"optimizer = torch.optim.Adam({LISTING.format(part)})"
    text = PARTS.format(freezing=CALLED, listing=listing)
    assert rehearsed(tmp_path, text).findings == ()


def test_a_model_that_is_frozen_as_a_whole_is_unfrozen(tmp_path: Path) -> None:
    text = PARTS.format(
        freezing="for p in net.parameters():\n    p.requires_grad = False",
        listing=f"optimizer = torch.optim.Adam({LISTING.format('')})",
    )
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.message.endswith("freezes every parameter")
    assert finding.fixes[0].message == "`p.requires_grad = True`"
