"""Batches that one loop moves to the device of the model, and another does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.api import rehearse_script

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Photos(Dataset):
    def __init__(self, n):
        self.digit = torch.randint(10, (n,))

    def __len__(self):
        return len(self.digit)

    def __getitem__(self, i):
        photo = torch.rand(1, 8, 8) + 0.1 * self.digit[i]
        return {item}


def to_device(batch):
    return {{k: v.to(device) for k, v in batch.items()}}


net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader, val = DataLoader(Photos(32), 8, shuffle=True), DataLoader(Photos(16), 8)
for epoch in range(2):
    net.train()
    for {batch} in {first}:
        {moved}
        loss = nn.functional.cross_entropy(net({x}), {y})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for {batch} in val:
            {unmoved}
            right += (net({x}).argmax(1) == {y}).sum().item()
"""
TUPLE = {"item": "photo, self.digit[i]", "x": "x", "y": "y", "first": "loader"}
TABLE = {
    "item": '{"photo": photo, "digit": self.digit[i]}', "batch": "batch",
    "x": 'batch["photo"]', "y": 'batch["digit"]', "first": "loader",
}  # fmt: skip
MOVES = {
    "by a function": (
        TABLE | {"moved": "batch = to_device(batch)"},
        "`batch = to_device(batch)` in the loop over `val`",
    ),
    "a pair": (
        TUPLE | {"batch": "x, y", "moved": "x, y = x.to(device), y.to(device)"},
        "`x, y = x.to(device), y.to(device)` in the loop over `val`",
    ),
    "a pair, numbered": (
        TUPLE | {
            "batch": "(x, y)", "moved": "x = x.to(device); y = y.to(device)",
            "first": "loader",
        },
        "`x = x.to(device); y = y.to(device)` in the loop over `val`",
    ),
    "a pair that is unpacked": (
        TUPLE | {
            "batch": "batch",
            "moved": "x, y = batch; x = x.to(device); y = y.to(device)",
            "unmoved": "x, y = batch",
        },
        "`x = x.to(device); y = y.to(device)` in the loop over `val`",
    ),
    "where none is moved": (
        TUPLE | {"batch": "x, y", "moved": "pass", "first": "[]"},
        "`x, y = x.to(device), y.to(device)` in the loop over `val`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_the_batch_is_moved_as_in_the_other_loop(name: str, tmp_path: Path) -> None:
    parts, fix = MOVES[name]
    script = tmp_path / "train.py"
    script.write_text(PROGRAM.format(**({"unmoved": "pass"} | parts)))
    (found,) = rehearse_script(str(script)).findings
    assert found.code == "mixed-devices"
    assert "the batch of `val` at line" in found.message
    assert found.fixes[0].message == fix
    assert found.fixes[0].checked
    edited = {edit.span.line for each in found.fixes for edit in each.edits}
    assert min(edited) > 20  # not in the data set


@pytest.mark.parametrize("name", ["by a function", "a pair"])
def test_batches_that_are_moved_are_quiet(name: str, tmp_path: Path) -> None:
    parts, _ = MOVES[name]
    script = tmp_path / "train.py"
    script.write_text(PROGRAM.format(**parts, unmoved=parts["moved"]))
    assert not rehearse_script(str(script)).findings
