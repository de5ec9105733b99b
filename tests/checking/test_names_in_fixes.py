"""A fix that changes a number says of what it is the number."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

HEAD = """\
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


"""

CASES = {
    "an argument with its name": (
        """\
def build():
    return Block(
        dim=10,
        heads=3,
    )
""",
        "`dim=12`",
    ),
    "the default of a parameter": (
        """\
def build(
    dim: int = 10,
    *,
    heads: int = 3,
):
    return Block(dim, heads)
""",
        "`dim=12`",
    ),
    "a value of a dict": (
        """\
def build():
    sizes = {
        "dim": 10,
    }
    return Block(sizes["dim"], 3)
""",
        '`"dim": 12`',
    ),
    "an argument without a name": (
        """\
def build():
    return Block(
        10,
        heads=3,
    )
""",
        "`Block(12, ...)`",
    ),
    "a short call stands whole": (
        "def build():\n    return Block(10, 3)\n",
        "`Block(12, 3)`",
    ),
    "an assignment": (
        "WIDTH = 10\n\n\ndef build():\n    return Block(WIDTH, 3)\n",
        "`WIDTH = 12`",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_changed_number_has_its_name(case: str, tmp_path: Path) -> None:
    text, message = CASES[case]
    file = tmp_path / "model.py"
    file.write_text(HEAD + text)
    (finding,) = api.check_target(f"{file}:build()", "f32[2, 5, 12]").findings
    assert message in [fix.message for fix in finding.fixes]
