"""A state dict that does not fit: what explains it, and a load that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api
from shapewright.program.spans import apply_edits

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.body(x))


def build():
    saved = Net(5).state_dict()
    {change}
    net = Net({classes})
    net.load_state_dict(saved)
    return net


def example_inputs():
    return (torch.randn(2, 4),)
"""
CASES = {
    "prefix": (
        'saved = {"module." + k: v for k, v in saved.items()}', 5,
        "every key of the state dict begins with `module.`",
    ),
    "head": ("pass", 7, "`head` of `Net` has another size in the state dict"),
    "missing": ('del saved["body.bias"]', 5, "the state dict lacks 1 of 4 keys"),
    "inside": (
        'saved = {"model": saved, "optimizer": {"state": {}}, "epoch": 3}', 5,
        "the weights of `Net` are inside what is loaded, at `[\"model\"]`",
    ),
    "inside with a prefix": (
        'saved = {"net": {"module." + k: v for k, v in saved.items()}}', 5,
        "inside what is loaded, at `[\"net\"]`",
    ),
    "a module": ("saved = Net(5)", 5, "`Net` is given a whole module where"),
    "renamed": (
        'saved = {k.replace("body", "trunk"): v for k, v in saved.items()}', 5,
        "the state dict has other keys than `Net`: 2 are missing",
    ),
    "unexpected": (
        'saved["more"] = saved["body.bias"]', 5, "the state dict has 1 keys that",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_change_is_named_and_a_load_that_works(name: str, tmp_path: Path) -> None:
    change, classes, words = CASES[name]
    text = PROGRAM.format(change=change, classes=classes)
    file = tmp_path / "net.py"
    file.write_text(text)
    report = api.check_target(f"{file}:build")
    (finding,) = report.findings
    assert finding.code == "state-dict-mismatch"
    assert words in finding.message
    assert report.complete
    fix = finding.fixes[0]
    mended = apply_edits(text, [(edit.span, edit.text) for edit in fix.edits])
    names: dict[str, object] = {}
    exec(compile(mended, "net.py", "exec"), names)
    names["build"]()  # type: ignore[operator]


def test_a_prefix_that_comes_once_more_is_said_so(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "from torch import nn\n\n"
        "net, test = nn.Linear(4, 3), nn.DataParallel(nn.Linear(4, 3))\n"
        "test = nn.DataParallel(test)\n"
        "test.load_state_dict(nn.DataParallel(net).state_dict())\n"
    )
    (found,) = api.rehearse_script(str(script)).findings
    assert found.message == (
        "every key of `DataParallel` begins with `module.` once more than those of the"
        " state dict"
    )
    assert "module." in found.fixes[0].message
