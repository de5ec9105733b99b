"""A layer of another number of dims, however the program names it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from shapewright.api import check_target

NET = """\
    import torch
    from torch import nn
    {named}
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.image = nn.Sequential(nn.Conv2d(3, 8, 3), {norm}(8))
            self.rows = nn.Sequential(nn.Conv1d(8, 4, 1), {norm}(4))
        def forward(self, x):
            return self.rows(self.image(x).mean(3))
    print(Attention()(torch.randn(2, 3, 16, 12)).shape)
    """


@pytest.mark.parametrize(
    ("named", "norm", "fix"),
    [
        ("", "nn.BatchNorm2d", "`BatchNorm1d` for `BatchNorm2d`"),
        ("Norm2d = nn.BatchNorm2d", "Norm2d", "`nn.BatchNorm1d` for `Norm2d`"),
        ("def normed(width): return nn.BatchNorm2d(width)", "normed",
         "`nn.BatchNorm1d` for `normed` at line 8"),
    ],
    ids=["layer", "name", "function"],
)  # fmt: skip
def test_the_layer_of_as_many_dims_is_built(
    named: str, norm: str, fix: str, tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(dedent(NET.format(named=named or "import math", norm=norm)))
    report = check_target(str(file))
    (finding,) = report.findings
    assert finding.code == "wrong-rank"
    assert finding.fixes[0].message == fix
