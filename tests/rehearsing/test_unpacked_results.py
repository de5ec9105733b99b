"""Results of a model that are taken apart into another number of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        h = self.a(x)
        return {returned}


net = Net()
x = torch.rand(16, 4)
for step in range(2):
    {names} = net(x)
    print(out.shape{read})
"""


@pytest.mark.parametrize(
    ("returned", "names", "read", "words", "fixes"),
    [
        (
            "self.b(h)", "out, h", ", h.shape", "one tensor f32[16, 2]",
            ["`return self.b(h), h`"],
        ),
        (
            "self.b(h)", "out, extra", "", "whose rows are taken apart",
            ["`out = net(x)`"],
        ),
        ("self.b(h), h, x", "out, h", "", "returns 3 values", ["`out, h, _ = net(x)`"]),
        (
            "self.b(h), h", "out, h, extra", "", "returns 2 values",
            ["`out, h = net(x)`"],
        ),
        ("self.b(h), h", "out, h, extra", ", extra", "returns 2 values", []),
    ],
)  # fmt: skip
def test_the_number_of_results_is_told(
    returned: str, names: str, read: str, words: str, fixes: list[str], tmp_path: Path
) -> None:
    text = PROGRAM.format(returned=returned, names=names, read=read)
    (error,) = rehearsed(tmp_path, text).findings
    assert words in error.message
    assert [fix.message for fix in error.fixes if fix.checked] == fixes


def test_rows_that_fit_are_quiet(tmp_path: Path) -> None:
    text = PROGRAM.format(returned="self.b(h).T", names="out, other", read="")
    assert not rehearsed(tmp_path, text).findings
