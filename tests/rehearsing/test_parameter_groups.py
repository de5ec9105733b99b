"""Parameters that are in two groups of an optimizer."""

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
        self.pos = nn.Embedding(5, 6)
        self.body = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8))
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(self.body(x + self.pos.weight).mean(1))

model = Net()
{lines}
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 5, 6)), torch.randint(3, (4,))).backward()
    optimizer.step()
"""
FILLED = """\
decay, plain = [], []
for name, p in model.named_parameters():
    if p.dim() >= 2:
        decay.append(p)
    {second}:
        plain.append(p)
groups = [{{"params": decay, "weight_decay": 0.1}}, {{"params": plain}}]
optimizer = torch.optim.SGD(groups, lr=0.1, weight_decay=0.0)"""
SECOND = 'if p.dim() < 2 or "pos" in name'
BOTH = """\
optimizer = torch.optim.SGD([
    {{"params": {body}}},
    {{"params": model.fc.parameters(), "lr": 0.1}},
], lr=0.01)"""
WITHOUT = '[p for n, p in model.named_parameters() if not n.startswith("fc.")]'
RESUMED = """\
def build(net, both):
    groups = net.parameters()
    if both:
        body = [net.pos.weight, *net.body.parameters()]
        groups = [{{"params": body}}, {{"params": net.fc.parameters()}}]
    return torch.optim.SGD(groups, lr=0.1)

optimizer = build(model, both={first})
torch.save({{"optimizer": optimizer.state_dict()}}, "last.pt")
optimizer = build(model, both={second})
state = torch.load("last.pt")
optimizer.load_state_dict(state['optimizer'])"""
ADDED = """\
optimizer = torch.optim.SGD(model.body.parameters(), lr=0.1)
{adding}
state = optimizer.state_dict()
optimizer = torch.optim.SGD(model.body.parameters(), lr=0.1)
optimizer.load_state_dict(state)"""
ADDING = 'optimizer.add_param_group({"params": model.fc.parameters()})'
RIGHT = {
    "tests of which one holds": FILLED.format(second=f"el{SECOND}"),
    "a rest": FILLED.format(second="else"),
    "two layers": BOTH.format(body="model.body.parameters()"),
    "a state of the same groups": RESUMED.format(first="True", second="True"),
    "a state without an added group": ADDED.format(adding=""),
    "all but a layer": BOTH.format(body=WITHOUT),
}


def test_the_parameter_that_passes_two_tests_is_named(tmp_path: Path) -> None:
    text = PROGRAM.format(lines=FILLED.format(second=SECOND))
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.message == (
        "`model.pos.weight` is in two groups: both tests hold, `p.dim() >= 2` and"
        ' `p.dim() < 2 or "pos" in name`'
    )
    assert [fix.message for fix in finding.fixes] == [
        f"`el{SECOND}`",
        '`if p.dim() >= 2 and not (p.dim() < 2 or "pos" in name)`',
    ]
    assert all(fix.checked for fix in finding.fixes)


LISTED = """\
head = list(model.fc.parameters())
rest = list(model.parameters())
optimizer = torch.optim.SGD([{"params": rest}, {"params": head, "lr": 1e-2}], lr=0.1)"""
ADDED_AGAIN = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.add_param_group({"params": model.fc.parameters(), "lr": 1e-2})"""


@pytest.mark.parametrize("lines", [LISTED, ADDED_AGAIN])
def test_a_layer_is_left_out_of_a_list(tmp_path: Path, lines: str) -> None:
    finding = rehearsed(tmp_path, PROGRAM.format(lines=lines)).findings[-1]
    assert finding.message.startswith("the parameters of `model.fc.parameters()`")
    assert finding.fixes[0].message == f"`{WITHOUT}`"
    assert finding.fixes[0].checked


def test_a_layer_is_left_out_of_the_group_of_its_model(tmp_path: Path) -> None:
    text = PROGRAM.format(lines=BOTH.format(body="model.parameters()"))
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.message.startswith("the parameters of `model.fc.parameters()`")
    assert finding.fixes[0].message == f"`{WITHOUT}`"
    assert finding.fixes[0].checked


def test_the_groups_of_a_state_and_of_its_optimizer_are_counted(tmp_path: Path) -> None:
    lines = RESUMED.format(first="False", second="True")
    finding = rehearsed(tmp_path, PROGRAM.format(lines=lines)).findings[-1]
    assert finding.message == (
        "the state was saved from an optimizer with 1 group of parameters, and"
        " `optimizer` has 2: both have to be built in the same way"
    )
    places = [place for place in finding.related if "is built here" in place.message]
    assert len(places) == 2
    assert [fix.message for fix in finding.fixes] == [
        "`build(model, both=True)`", "`build(model, both=False)`",
    ]  # fmt: skip
    assert all(fix.checked for fix in finding.fixes)


def test_the_group_that_was_added_is_shown(tmp_path: Path) -> None:
    text = PROGRAM.format(lines=ADDED.format(adding=ADDING))
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "with 2 groups of parameters, and `optimizer` has 1" in finding.message
    assert "a group is added here" in [place.message for place in finding.related]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_meant_stays_as_it_is(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, PROGRAM.format(lines=RIGHT[name])).findings
    assert all(finding.severity != "error" for finding in findings), findings


GROUPS = """\
import torch
from torch.optim.lr_scheduler import CyclicLR, LambdaLR, MultiplicativeLR, OneCycleLR

body, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(
    [{{"params": body.parameters()}}, {{"params": head.parameters(), "lr": 0.01}}],
    lr=0.1, momentum=0.9,
)

def rise(step):
    return min(1.0, (step + 1) / 3)
{more}
schedule = {schedule}
for _ in range(4):
    head(body(torch.randn(2, 4))).sum().backward()
    optimizer.step()
    schedule.step()
"""
FALL = "\ndef fall(step):\n    return 0.9 ** step\n"


@pytest.mark.parametrize(
    ("more", "schedule", "fix"),
    [
        ("", "LambdaLR(optimizer, lr_lambda=[rise])", "`[rise] * 2`"),
        (FALL, "LambdaLR(optimizer, [rise])", "`[rise, fall]`"),
        ("", "MultiplicativeLR(optimizer, [lambda k: 0.9])", "`[lambda k: 0.9] * 2`"),
        ("", "OneCycleLR(optimizer, max_lr=[0.1], total_steps=9)", "`[0.1] * 2`"),
    ],
)
def test_each_group_has_its_rate(
    tmp_path: Path, more: str, schedule: str, fix: str
) -> None:
    text = GROUPS.format(more=more, schedule=schedule)
    (finding,) = rehearsed(tmp_path, text).findings
    assert "`optimizer` has 2 groups of parameters, and" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "schedule", ["LambdaLR(optimizer, rise)", "LambdaLR(optimizer, [rise, rise])"]
)
def test_one_function_is_for_all_groups(tmp_path: Path, schedule: str) -> None:
    text = GROUPS.format(more="", schedule=schedule)
    errors = [f for f in rehearsed(tmp_path, text).findings if f.severity == "error"]
    assert not errors


TWO_MODELS = """\
def make_groups(net):
    first = [net.pos.weight, *net.body.parameters()]
    return [{{"params": first}}, {{"params": net.fc.parameters(), "lr": 0.3}}]

{first}
state = {{"model": model.state_dict(), "optimizer": optimizer.state_dict()}}
other = Net()
other.load_state_dict(state["model"])
resumed = torch.optim.SGD({second}, lr=0.2)
resumed.load_state_dict(state["optimizer"])"""
OF_FUNCTION = "optimizer = torch.optim.SGD(make_groups(model), lr=0.1)"
LISTED = (
    "groups = [{{'params': {0}.body.parameters()}}, {{'params': {0}.fc.parameters()}}]"
)
OF_LIST = f"{LISTED.format('model')}\noptimizer = torch.optim.SGD(groups, lr=0.1)"


@pytest.mark.parametrize(
    ("first", "second", "groups"),
    [
        (OF_FUNCTION, "other.parameters()", "make_groups(other)"),
        (OF_FUNCTION, "model.parameters()", "make_groups(model)"),
        (
            OF_LIST,
            "[*other.body.parameters(), *other.fc.parameters()]",
            LISTED.format("other").partition(" = ")[2],
        ),
    ],
)
def test_the_second_optimizer_gets_the_groups_of_the_first(
    first: str, second: str, groups: str, tmp_path: Path
) -> None:
    lines = TWO_MODELS.format(first=first, second=second)
    finding = rehearsed(tmp_path, PROGRAM.format(lines=lines)).findings[-1]
    assert "from an optimizer with 2 groups" in finding.message
    assert [fix.message for fix in finding.fixes] == [
        f"`torch.optim.SGD({groups}, lr=0.2)`"
    ]
    assert finding.fixes[0].checked


def test_groups_of_a_model_of_another_class_are_not_copied(tmp_path: Path) -> None:
    lines = TWO_MODELS.format(first=OF_FUNCTION, second="head.parameters()")
    lines = lines.replace("other = Net()", "other = Net()\nhead = nn.Linear(8, 3)")
    finding = rehearsed(tmp_path, PROGRAM.format(lines=lines)).findings[-1]
    assert "from an optimizer with 2 groups" in finding.message
    assert not any("make_groups" in fix.message for fix in finding.fixes)


def test_optimizers_that_are_built_alike_are_quiet(tmp_path: Path) -> None:
    lines = TWO_MODELS.format(first=OF_FUNCTION, second="make_groups(other)")
    findings = rehearsed(tmp_path, PROGRAM.format(lines=lines)).findings
    assert all(finding.severity != "error" for finding in findings), findings
