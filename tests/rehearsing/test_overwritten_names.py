"""A name that is assigned twice, the second time from another name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

CASES = {
    "a view of the wrong heads": (
        """\
    import torch
    from torch import nn
    text, image = nn.Linear(8, 12), nn.Linear(8, 12)
    a = text(torch.randn(6, 5, 8))
    a = a.view(6, 5, 3, 4).sum(2)
    b = image(torch.randn(6, 7, 8))
    b = torch.reshape(a, (6, 7, 12)).sum(1)
    (a.sum() + b.sum()).backward()
    """,
        "`b` for `a`",
    ),
    "a branch that reads the other one": (
        """\
    import torch
    from torch import nn
    wide, narrow = nn.Linear(8, 32), nn.Linear(8, 4)
    last = nn.Linear(4, 1)
    x = torch.randn(6, 8)
    left = wide(x)
    right = narrow(x)
    right = last(left)
    (left.sum() + right.sum()).backward()
    """,
        "`right` for `left`",
    ),
}


@pytest.mark.parametrize(("text", "first"), CASES.values(), ids=CASES.keys())
def test_the_name_that_nothing_reads_is_meant(
    text: str, first: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, text)
    finding = next(f for f in report.findings if f.severity == "error")
    fixes = [fix.message for fix in finding.fixes if fix.checked]
    assert fixes[0] == first
