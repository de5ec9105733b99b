"""Crops of half a difference on both sides, which miss an odd one by a pixel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    import torch.nn.functional as F
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Conv2d(1, 4, 3), nn.ConvTranspose2d(4, 4, 2, 2)
        def forward(self, x):
            skip = self.down(x)
            x = self.up(F.max_pool2d(self.down(x[:, :, 2:, 2:]), 2))
            {crop}
            return torch.cat([skip, x], 1)
    net = Net()
    for _ in range(2):
        net(torch.randn(2, 1, {size}, {size})).pow(2).mean().backward()
    """
INDENT = "\n            "
NOTE = ("both sides", "on both")
FORMS = {
    "a pad by name": (
        ["d = x.size(2) - skip.size(2)", "skip = F.pad(skip, 2 * [d // 2, d // 2])"],
        "`d - d // 2` for `d // 2`",
    ),
    "four numbers": (
        ["dy, dx = x.size(2) - skip.size(2), x.size(3) - skip.size(3)",
         "pad = [dx // 2, dx // 2, dy // 2, dy // 2]", "skip = F.pad(skip, pad)"],
        "`dx - dx // 2` for `dx // 2`",
    ),
    "a slice": (
        ["d = (skip.size(2) - x.size(2)) // 2", "skip = skip[:, :, d:-d, d:-d]"],
        "`d + x.size(2)` for `-d`",
    ),
    "a slice to the end": (
        ["h, w = x.shape[2:]", "d = int((skip.size(2) - h) / 2)",
         "skip = skip[:, :, d : skip.size(2) - d, d : skip.size(3) - d]"],
        "`d + h` for `skip.size(2) - d`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_rest_is_cut_off(form: str, tmp_path: Path) -> None:
    lines, first = FORMS[form]
    text = PROGRAM.format(crop=INDENT.join(lines), size=17)
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    words = " ".join(place.message for place in finding.related)
    assert any(note in words for note in NOTE)
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (FORMS["a pad by name"][0], 16),
        (FORMS["a slice"][0], 16),
        (["d = x.size(2) - skip.size(2)",
          "skip = F.pad(skip, 2 * [d // 2, d - d // 2])"], 17),
        (["d = (skip.size(2) - x.size(2)) // 2",
          "skip = skip[:, :, d:d + x.size(2), d:d + x.size(3)]"], 17),
    ],
)  # fmt: skip
def test_a_whole_difference_is_right(
    lines: list[str], size: int, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(crop=INDENT.join(lines), size=size))
    assert [f for f in report.findings if f.severity == "error"] == []


def test_maps_of_other_sizes_are_not_crops(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(crop="pass", size=17))
    (finding,) = (f for f in report.findings if f.severity == "error")
    words = " ".join(place.message for place in finding.related)
    assert not any(note in words for note in NOTE)
