"""What a person reads: needs of many families, in one run of one program."""

from __future__ import annotations

from pathlib import Path

from shapewright import api
from shapewright.views.terminal.findings import format_report

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(10, 20, batch_first=True)
        self.table = nn.Embedding(10, 4)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
        self.norm = nn.LayerNorm(64)
        self.loss = nn.CrossEntropyLoss()
        self.classes = nn.Linear(20, 7)

    def forward(self, x, ids, labels):
        h, _ = self.lstm(x)
        rows = self.table(ids)
        self.attention(h, h, h)
        self.norm(h)
        shifted = h + torch.zeros(8, 20)
        joined = torch.cat([h, h[:, :3]], dim=2)
        flat = h.view(-1, 33)
        return self.loss(self.classes(h), labels)


def example_inputs():
    labels = torch.zeros(8, 5, dtype=torch.int64)
    return torch.randn(8, 5, 12), torch.arange(12), labels
"""

CODES = [
    "rnn-input-size",
    "index-out-of-range",
    "attention-features",
    "normalized-shape",
    "broadcast-mismatch",
    "joined-sizes-differ",
    "does-not-divide",
    "classes-in-last-dim",
]


def test_each_independent_mistake_has_its_code_and_its_line(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    report = api.check_target(f"{file}:Net")
    errors = [each for each in report.findings if each.severity == "error"]
    assert [each.code for each in errors] == CODES
    assert [each.span.line for each in errors if each.span] == [*range(16, 24)]
    assert report.complete
    shown = format_report(report, 80, False, True)
    assert "`ids` at [10] is 10" in shown
    assert "expected: 10 is `input_size` of `lstm`" in shown
    assert "     8  5  20   `h`\n        8  20   `torch.zeros(8, 20)`\n" in shown
    assert "8·5·20 = 800 elements in `h`" in shown


TWICE_AS_LONG = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, logits, labels):
        labels[:, :2] = 255
        logits, labels = logits.view(-1), labels.view(-1)
        valid = labels != 255
        logits, labels = logits[valid], labels[valid]
        signs = 2.0 * labels.float() - 1.0
        return torch.relu(1.0 - logits * signs).mean()


def example_inputs():
    return torch.randn(2, 2, 8, 8), torch.zeros(2, 8, 8, dtype=torch.int64)
"""


def test_nothing_follows_from_a_mask_of_another_length(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(TWICE_AS_LONG)
    report = api.check_target(f"{file}:Net")
    errors = [each for each in report.findings if each.severity == "error"]
    assert [(each.code, each.span and each.span.line) for each in errors] == [
        ("mask-shape", 10)
    ]
