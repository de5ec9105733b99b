"""Tensors of several elements where Python asks for one truth value."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.analysis.refused_calls.truth_values import find_ambiguous_truth
from tests.rehearsing.library_errors import explain, mend
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def score(error, delta=1.0, mask=None, done=False):
{lines}

for _ in range(2):
    x, y = torch.rand(6, 4), torch.rand(6, 1)
    optimizer.zero_grad()
    score(net(x) - y, mask=torch.ones(6, 1)).mean().backward()
    optimizer.step()
"""
CHOICES = [
    (
        "if error.abs() <= delta:\n    loss = error ** 2\n"
        "else:\n    loss = error.abs()\nreturn loss",
        "`if` takes one truth value, and `error.abs() <= delta` has 6: (6, 1)",
        "torch.where(error.abs() <= delta, error ** 2, error.abs())",
    ),
    (
        "if error < 0:\n    return -2 * error\nreturn error",
        "`if` takes one truth value, and `error < 0` has 6: (6, 1)",
        "torch.where(error < 0, -2 * error, error)",
    ),
    (
        "if error < -1:\n    return -2 * error\nelif error > 1:\n    return 2 * error\n"
        "else:\n    return error ** 2",
        "`if` takes one truth value, and `error < -1` has 6: (6, 1)",
        "torch.where(error < -1, -2 * error,"
        " torch.where(error > 1, 2 * error, error ** 2))",
    ),
    (
        "if done:\n    loss = error\nelif error > 0:\n    loss = error ** 2\nelse:\n"
        "    loss = error.abs()\nreturn loss",
        "`if` takes one truth value, and `error > 0` has 6: (6, 1)",
        "torch.where(error > 0, error ** 2, error.abs())",
    ),
    (
        "loss = error ** 2\nif error > delta:\n    loss = error.abs()\nreturn loss",
        "`if` takes one truth value, and `error > delta` has 6: (6, 1)",
        "torch.where(error > delta, error.abs(), loss)",
    ),
    (
        "return error if error > 0 else -error",
        "`if` takes one truth value, and `error > 0` has 6: (6, 1)",
        "torch.where(error > 0, error, -error)",
    ),
    (
        "inside = error > -1 and error < 1\nreturn error * inside",
        "`and` takes one truth value, and",
        "(error > -1) & (error < 1)",
    ),
    (
        "if -1 < error < 1:\n    return error ** 2\nreturn error.abs()",
        "`if` takes one truth value, and",
        "torch.where((-1 < error) & (error < 1), error ** 2, error.abs())",
    ),
    (
        "return min(error ** 2, error.abs())",
        "Python's `min` takes one truth value",
        "torch.minimum(error ** 2, error.abs())",
    ),
    (
        "return max(0, delta - error)",
        "Python's `max` takes one truth value",
        "(delta - error).clamp(min=0)",
    ),
    (
        "if mask:\n    error = error * mask\nreturn error",
        "`if` takes one truth value, and `mask` has 6: (6, 1)",
        "mask is not None",
    ),
    (
        "if not mask:\n    return error\nreturn error * mask",
        "`if` takes one truth value, and `mask` has 6: (6, 1)",
        "mask is None",
    ),
    (
        "if error == mask:\n    print('same')\n    delta = 2\nreturn error * delta",
        "`if` takes one truth value, and `error == mask` has 6: (6, 1)",
        "torch.equal(error, mask)",
    ),
]


def indent(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.split("\n"))


@pytest.mark.parametrize(("lines", "words", "new"), CHOICES)
def test_a_choice_is_made_by_element(
    lines: str, words: str, new: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(lines=indent(lines)))
    finding = next(f for f in report.findings if f.severity == "error")
    assert words in finding.message
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "lines",
    [
        "while error > 0:\n    error = error - 1\nreturn error",
        "if error > 0:\n    error = error * 2\n    print('above')\nreturn error",
        "if error > 0:\n    print('above')\nelse:\n    error = -error\nreturn error",
    ],
)
def test_what_is_no_choice_has_no_edit(lines: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(lines=indent(lines)))
    finding = next(f for f in report.findings if f.severity == "error")
    assert "takes one truth value, and `error > 0` has 6: (6, 1)" in finding.message
    assert not finding.fixes


@pytest.mark.parametrize(
    "lines",
    [
        "return torch.where(error > 0, error, -error)",
        "if (error > 0).any():\n    return error\nreturn -error",
        "if error.mean() > 0:\n    return error\nreturn -error",
        "if mask is not None:\n    error = error * mask\nreturn error",
        "return min(error.abs().mean(), (error ** 2).mean())",
    ],
)
def test_a_truth_value_of_one_element_is_quiet(lines: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(lines=indent(lines)))
    assert not any("truth value" in f.message for f in report.findings)


OF_SERIES = (
    "`ValueError`: The truth value of a Series is ambiguous. Use a.empty, a.item"
)
OF_ARRAY = "`ValueError`: The truth value of an array with more than one element is"


@pytest.mark.parametrize("words", [OF_SERIES, OF_ARRAY])
@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("risky = t['a'] > 5 or t['b'] < 3", "(t['a'] > 5) | (t['b'] < 3)"),
        ("rows = t[t.a > 5 and t.b.isin(few)]", "t[(t.a > 5) & t.b.isin(few)]"),
        ("rows = t[not t.a.isna()]", "t[~t.a.isna()]"),
        ("good = 0 < t.a < 5", "(0 < t.a) & (t.a < 5)"),
        ("good = t.a > 5 and not t.b > 3", "(t.a > 5) & ~(t.b > 3)"),
        ("if t.a > 5:\n    pass", ""),
        ("good = few is None or t.a > 5", ""),
        ("good = t.a > 5 or 'x' in few", ""),
    ],
)
def test_columns_are_joined_by_element(words: str, text: str, new: str) -> None:
    at = text.partition("\n")[0].split(" = ")[-1].removeprefix("if ").rstrip(":")
    at = at.removeprefix("t[").removesuffix("]") if text.startswith("rows") else at
    cause = explain(find_ambiguous_truth, text, at, words)
    assert cause is not None
    assert "takes one truth value, and" in cause.message
    assert len(cause.fixes) == bool(new)
    if new:
        assert new in mend(text, cause.fixes[0].edits)
