"""Counts that are never read, where those of another loop are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
loader, held_out = DataLoader(data, 8), DataLoader(data, 8)
model, criterion = nn.Linear(6, 3), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for epoch in range(2):
    correct = total = train_loss = 0
    for inputs, labels in loader:
        out = model(inputs)
        loss = criterion(out, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
        total += len(labels)
        correct += (out.argmax(1) == labels).sum().item()
    print("training", correct / total, train_loss / len(loader))
    correct_val = total_val = val_loss = 0
    with torch.no_grad():
        for inputs, labels in held_out:
            out = model(inputs)
            val_loss += criterion(out, labels).item()
            total_val += len(labels)
            correct_val += (out.argmax(1) == labels).sum().item()
    {after}
"""
WRONG = {
    "both": (
        'print(correct / total, val_loss / 5)',
        "`total_val` for `total`, `correct_val` for `correct`",
    ),
    "one": (
        "print(correct / total_val, val_loss / 5)", "`correct_val` for `correct`",
    ),
    "assigned first": (
        "accuracy = correct / total_val; print(accuracy, val_loss)",
        "`correct_val` for `correct`",
    ),
    "in the text": (
        "print(f'{correct / total_val:.2f} {val_loss}')", "`correct_val` for `correct`",
    ),
    "another word, as the text says": (
        'print("val", correct_val / total_val, train_loss / 5)',
        "`val_loss` for `train_loss`",
    ),
}  # fmt: skip
RIGHT = {
    "all are read": "print(correct_val / total_val, val_loss)",
    "read in a nested function": """\
def show():
        return correct_val / total_val
    print(correct, total, show(), val_loss)""",
    "read in a text": "print(correct / total, f'{correct_val} {total_val} {val_loss}')",
    "locals": "print(correct / total, '%(correct_val)d %(total_val)d' % locals())",
    "not read, and no other for it": "print(val_loss)",
    "not read, beside the training's":
        "print('train', correct / total, 'validation', val_loss)",
    "both are named": 'print("train and val", train_loss, correct_val, total_val)',
    "read under its name": "print(correct, total, vars()['correct_val'], val_loss)",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_counts_of_another_loop_are_found(name: str, tmp_path: Path) -> None:
    after, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(before="", after=after))
    (finding,) = report.findings
    assert finding.code == "count-not-read"
    assert finding.fixes[0].message == edit
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_counts_that_may_be_read_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(before="", after=RIGHT[name]))
    assert [each.message for each in report.findings] == []


def test_a_function_that_declares_its_count_global_is_quiet(tmp_path: Path) -> None:
    before = "def count():\n    global correct_val, total_val\n    return 0\n"
    after = "print(correct / total, val_loss)"
    report = rehearsed(tmp_path, SCRIPT.format(before=before, after=after))
    assert [each.message for each in report.findings] == []


IMPORTED = """\
import torch

seen = seen_last = 0
for x in torch.randn(5, 2):
    seen += 1
for x in torch.randn(5, 2):
    seen_last += 1
print(seen)
"""


def test_a_module_may_be_read_by_others(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(IMPORTED)
    text = "import counted\nprint(counted.seen_last)\n"
    report = rehearsed(tmp_path, text)
    assert [each.message for each in report.findings] == []


@pytest.mark.parametrize(
    ("held_out", "divisor", "fixes"),
    [
        ("DataLoader(data, 20)", "len(loader)", ["`len(held_out)`"]),
        ("DataLoader(data, 20)", "len(held_out)", []),
        ("DataLoader(data, 8)", "len(loader)", []),  # as many batches
    ],
)
def test_a_sum_is_divided_by_the_length_of_its_loader(
    held_out: str, divisor: str, fixes: list[str], tmp_path: Path
) -> None:
    text = SCRIPT.replace("DataLoader(data, 8)\n", f"{held_out}\n")
    after = f"print(correct_val / total_val, val_loss / {divisor})"
    findings = rehearsed(tmp_path, text.format(before="", after=after)).findings
    assert [finding.fixes[0].message for finding in findings] == fixes
    assert all(finding.code == "count-not-read" for finding in findings)


EPOCH = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
loader = DataLoader(data, 8)
model, criterion = nn.Linear(6, 3), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_epoch():
    train_loss, steps = 0.0, 0
    for inputs, labels in loader:
        loss = criterion(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.{method}()
        steps += 1
    {behind}


for epoch in range(2):
    print(train_epoch())
"""
LAST_LOSSES = {
    "by a count": ("item", "return loss.item() / steps", "`loss.item()`"),
    "by the loader": ("item", "return float(loss / len(loader))", "`loss`"),
    "kept as a tensor": (
        "detach",
        "loss = (loss / steps).cpu().data; return loss",
        "`loss`",
    ),
}
READ_SUMS = {
    "the sum is read": "return train_loss / steps",
    "both are read": "print(train_loss); return loss.item() / steps",
    "the last loss": "return loss.item()",
    "a share of the last loss": "return loss.item() / 10",
    "in a text": "print(f'{train_loss}'); return loss.item() / steps",
    "locals": "print(locals()); return loss.item() / steps",
    "set again": "loss = criterion(model(data[:][0]), data[:][1])\n"
    "    return loss / steps",
}


@pytest.mark.parametrize("name", LAST_LOSSES)
def test_a_last_loss_for_its_sum_is_found(name: str, tmp_path: Path) -> None:
    method, behind, loss = LAST_LOSSES[name]
    report = rehearsed(tmp_path, EPOCH.format(method=method, behind=behind))
    finding = next(f for f in report.findings if f.code == "count-not-read")
    assert finding.fixes[0].message == f"`train_loss` for {loss}"
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", READ_SUMS)
def test_sums_that_are_read_are_quiet(name: str, tmp_path: Path) -> None:
    text = EPOCH.format(method="item", behind=READ_SUMS[name])
    codes = {finding.code for finding in rehearsed(tmp_path, text).findings}
    assert "count-not-read" not in codes
