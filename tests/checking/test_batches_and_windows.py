"""Fixes for one sample beside a batch, and for windows made for another size."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.test_fixes import program
from shapewright import api

pytestmark = pytest.mark.long

X = "torch.randn(4, 20, 32)"
CASES = {
    "a class token": (
        program(
            "self.token = nn.Parameter(torch.zeros(1, 1, 32))",
            "x):\n        return torch.cat([self.token, x], dim=1)",
            X,
        ),
        ["`self.token.expand(x.size(0), -1, -1)`"],
    ),
    "queries of a decoder": (
        program(
            "self.asked = nn.Parameter(torch.randn(10, 32))\n"
            "self.net = nn.Transformer(32, 4, 1, 1, 64)",
            """x):
        asked = self.asked[:, None, :]
        return self.net(x, asked)""",
            "torch.randn(20, 3, 32)",
        ),
        ["`asked.expand(-1, x.size(1), -1)`"],
    ),
    "the query of a pooling": (
        program(
            "self.query = nn.Parameter(torch.zeros(1, 1, 32))\n"
            "self.att = nn.MultiheadAttention(32, 4, batch_first=True)",
            "x):\n        return self.att(self.query, x, x)[0]",
            X,
        ),
        ["`self.query.expand(x.size(0), -1, -1)`"],
    ),
    "a first state": (
        program(
            "self.start = nn.Parameter(torch.zeros(1, 1, 16))\n"
            "self.rnn = nn.GRU(32, 16, batch_first=True)",
            "x):\n        return self.rnn(x, self.start)[0]",
            X,
        ),
        ["`self.start.repeat(1, x.size(0), 1)`"],
    ),
    "a table of positions": (
        program(
            "self.places = nn.Parameter(torch.zeros(1, longest, 32))",
            "x):\n        return x + self.places",
            X,
            ", longest=12",
        ),
        ["`torch.zeros(1, 20, 32)`"],
    ),
    "samples first": (
        program(
            "self.net = nn.Transformer(32, 4, 1, 1, 64)",
            "x, y):\n        return self.net(x, y)",
            "torch.randn(4, 20, 32), torch.randn(4, 12, 32)",
        ),
        ["`nn.Transformer(32, 4, 1, 1, 64, batch_first=True)`"],
    ),
    "a pooling for smaller images": (
        program(
            "self.conv = nn.Conv2d(3, 64, 3, 4, 1)\n"
            "self.pool = nn.AvgPool2d(8)\n"
            "self.fc = nn.Linear(64, 10)",
            "x):\n        return self.fc(self.pool(self.conv(x)).flatten(1))",
            "torch.randn(2, 3, 64, 64)",
        ),
        ["`nn.AdaptiveAvgPool2d(1)`"],
    ),
    "a layer for fewer pixels": (
        program(
            "self.conv = nn.Conv2d(3, 64, 3, 4, 1)\n"
            "self.pool = nn.MaxPool2d(2)\n"
            "self.fc = nn.Linear(64, 10)",
            "x):\n        return self.fc(self.pool(self.conv(x)).flatten(1))",
            "torch.randn(2, 3, 16, 16)",
        ),
        ["`nn.Linear(64 * 2 * 2, 10)`"],
    ),
    "a kernel of two numbers": (
        program(
            "self.conv = nn.Conv1d(1, 8, (3, width))",
            "x):\n        return self.conv(x.transpose(1, 2))",
            "torch.randn(4, 30, 24)",
            ", width=24",
        ),
        ["`in_channels=width` and `kernel_size=3`"],
    ),
    "a kernel of one number": (
        program(
            "self.conv = nn.Conv2d(3, 8, (3,))",
            "x):\n        return self.conv(x)",
            "torch.randn(4, 3, 24, 24)",
        ),
        ["`kernel_size=(3, 3)`"],
    ),
    "upsampled along two of three axes": (
        program(
            "self.down = nn.Conv3d(4, 8, 3, (1, 2, 2), 1)\n"
            "self.up = nn.ConvTranspose3d(8, 4, 3, (1, 2, 2), 1)",
            "x):\n        return x + self.up(self.down(x))",
            "torch.randn(2, 4, 5, 16, 16)",
        ),
        ["`nn.ConvTranspose3d(8, 4, 3, (1, 2, 2), 1, output_padding=(0, 1, 1))`"],
    ),
    "a cell state that is missing": (
        program(
            "self.cell = nn.LSTMCell(8, 16)",
            """x, h):
        h, c = self.cell(x, h)
        return h""",
            "torch.randn(4, 8), torch.randn(4, 16)",
        ),
        ["`(h, torch.zeros_like(h))`"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_fixes(tmp_path: Path, name: str) -> None:
    text, fixes = CASES[name]
    file = tmp_path / "net.py"
    file.write_text(text)
    (only,) = api.check_target(f"{file}:Net").findings
    assert [fix.message for fix in only.fixes] == fixes


def test_two_layers_of_one_mistake_have_their_fixes(tmp_path: Path) -> None:
    """Each alone leaves the other error; together they run."""
    text = program(
        "self.a = nn.Conv1d(1, 8, (1, 24))\nself.b = nn.Conv1d(1, 8, (1, 24))",
        "x):\n        y = self.a(x)\n        return y + self.b(x)",
        "torch.randn(4, 24, 30)",
    )
    file = tmp_path / "net.py"
    file.write_text(text)
    findings = api.check_target(f"{file}:Net").findings
    assert [finding.code for finding in findings] == ["window-numbers"] * 2
    assert [finding.fixes[0].message for finding in findings] == [
        "`in_channels=24` and `kernel_size=1`"
    ] * 2
