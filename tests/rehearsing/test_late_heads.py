"""Layers that are replaced behind the optimizer, and those in plain lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Linear(6, 8), nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(self.body(x).relu())

"""
LOOP = """
for _ in range(3):
    loss = F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 1, 2, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
"""
LATE = {
    "a script": """
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
model.fc = nn.Linear(8, 3)
""",
    "a function": """
def build():
    model = Net()
    optimizer = torch.optim.SGD(
        [p for p in model.parameters() if p.requires_grad],
        lr=0.1)
    print("built")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model.fc = nn.Sequential(
        nn.Dropout(0.1),
        nn.Linear(8, 3),
    )
    return model, optimizer, scheduler


model, optimizer, scheduler = build()
""",
    "a helper": """
def replace_head(net):
    net.fc = nn.Linear(8, 3)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
replace_head(model)
""",
}
RIGHT = """
model = Net()
model.fc = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
"""
LISTS = {
    "append": ("[]", "for _ in range(2):\n            self.cells.append(Cell())"),
    "comprehension": ("[Cell() for _ in range(2)]", "pass"),
    "dict": ('{"a": Cell(), "b": Cell()}', "pass"),
}
CELLS = """\
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        return self.norm(self.fc(x))


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = {listed}
        {rest}
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        for cell in {cells}:
            x = cell(x)
        return self.out(x)


model = Stack()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(4, 6)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("name", LATE)
def test_the_optimizer_moves_behind_the_new_layer(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + LATE[name] + LOOP)
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "not-in-optimizer"]
    fix = finding.fixes[0]
    assert fix.checked
    assert "and 1 more after line" in fix.message
    (new,) = [edit.text for edit in fix.edits if edit.text]
    assert new.index("optimizer =") < new.index("scheduler =")


PRETRAINED = """
model = Net()
first = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    first.zero_grad()
    loss = F.cross_entropy(model(torch.randn(4, 6)), torch.tensor([0, 9, 2, 1]))
    loss.backward()
    first.step()
model.body.requires_grad_(False)
"""
OF_HEAD = """\
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
"""
NEW_HEAD = """\
model.fc = nn.Linear(8, 3)
"""
NO_SCHEDULE = LOOP.replace("    scheduler.step()\n", "")


def test_an_optimizer_of_the_old_head_moves_behind_the_new_one(tmp_path: Path) -> None:
    text = HEAD + PRETRAINED + OF_HEAD + NEW_HEAD + NO_SCHEDULE
    report = rehearsed(tmp_path, text)
    codes = [finding.code for finding in report.findings]
    assert codes == ["not-in-optimizer", "no-gradient"]
    at = text.splitlines().index(NEW_HEAD.strip()) + 1
    for finding in report.findings:
        assert finding.span is not None
        assert finding.span.line == at - 1
        message = finding.fixes[0].message
        assert message == f"`{OF_HEAD.strip()}` after line {at}"
    assert at in [related.span.line for related in report.findings[1].related]


MADE_BY_FUNCTION = """
def make(net, lr):
    groups = [{"params": net.body.parameters(), "lr": 0.1 * lr}]
    return torch.optim.SGD([*groups, {"params": net.fc.parameters()}], lr=lr)


model = Net()
print(make(model, lr=1.0))
optimizer = make(model, lr=0.1)
"""


def test_the_call_that_makes_an_optimizer_moves_behind_the_new_head(
    tmp_path: Path,
) -> None:
    text = HEAD + MADE_BY_FUNCTION + NEW_HEAD + NO_SCHEDULE
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.code == "not-in-optimizer")
    at = text.splitlines().index(NEW_HEAD.strip()) + 1
    message = f"`optimizer = make(model, lr=0.1)` after line {at}"
    assert [fix.message for fix in finding.fixes if fix.checked] == [message]


def test_an_optimizer_of_the_new_head_alone_is_quiet(tmp_path: Path) -> None:
    text = HEAD + PRETRAINED + NEW_HEAD + OF_HEAD + NO_SCHEDULE
    assert not rehearsed(tmp_path, text).findings


def test_an_optimizer_of_the_new_layer_is_quiet(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + RIGHT + LOOP)
    assert "not-in-optimizer" not in [f.code for f in report.findings]


@pytest.mark.parametrize("name", LISTS)
def test_the_plain_list_of_layers_is_named(name: str, tmp_path: Path) -> None:
    listed, rest = LISTS[name]
    cells = "self.cells.values()" if name == "dict" else "self.cells"
    text = CELLS.format(listed=listed, rest=rest, cells=cells)
    report = rehearsed(tmp_path, text)
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "not-in-optimizer"]
    assert "`self.cells` is a plain" in finding.message
    at = next(n for n, row in enumerate(text.splitlines(), 1) if "self.cells =" in row)
    assert at in [related.span.line for related in finding.related]
    assert "nn.Module" in finding.fixes[0].message
    assert finding.fixes[0].checked


AGAIN = """
model = Net()
print(model(torch.randn(4, 6)).shape)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


{again}
for _ in range(3):
    train(torch.randn(4, 6), torch.tensor([0, 1, 2, 1]))
"""


def test_a_model_that_is_built_again_behind_its_optimizer(tmp_path: Path) -> None:
    text = HEAD + AGAIN.format(again="model = Net()")
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.code == "not-in-optimizer")
    assert finding.message.endswith("`model` is built again behind the optimizer")
    line = text[: text.rindex("model = Net()")].count("\n") + 1
    assert finding.related[0].span.line == line
    assert len(finding.fixes[0].edits) == 2
    assert f"after line {line}" in finding.fixes[0].message


@pytest.mark.parametrize(
    "again",
    [
        "other = Net()",
        "model = Net()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
    ],
)
def test_other_models_behind_an_optimizer_are_right(tmp_path: Path, again: str) -> None:
    report = rehearsed(tmp_path, HEAD + AGAIN.format(again=again))
    assert "not-in-optimizer" not in [f.code for f in report.findings]
