"""Source and target of a transformer with the batch first, and what stands behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import torch
from torch import nn


def hide_next(size):
    return torch.ones(size, size).triu(1).bool()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 16)
        self.core = nn.Transformer(16, 2, 1, 1, 32SETTING)
        self.head = nn.Linear(16, 12)

    def forward(self, src, tgt, mask):
        out = self.core(self.table(src), self.table(tgt), tgt_mask=mask)
        return self.head(out)


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(2):
    src, tgt = torch.randint(12, SOURCE), torch.randint(12, TARGET)
    shifted = tgt[:, :-1]
    mask = hide_next(MASK)
    out = net(src, shifted, mask)
    optimizer.zero_grad()
    nn.functional.cross_entropy(out.flatten(0, 1), tgt[:, 1:].flatten()).backward()
    optimizer.step()
"""
FIRST = ", batch_first=True"


def _write(
    setting: str = "",
    source: str = "(8, 9)",
    target: str = "(8, 7)",
    mask: str = "shifted.size(1)",
) -> str:
    """The script with a setting of the transformer, two sizes and that of the mask."""
    text = SCRIPT.replace("SETTING", setting).replace("SOURCE", source)
    return text.replace("TARGET", target).replace("MASK", mask)


@pytest.mark.parametrize("mask", ["shifted.size(1)", "tgt.size(1)"])
def test_the_transformer_is_built_batch_first(mask: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, _write(mask=mask)).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert "without `batch_first=True`" in errors[0].message
    assert "(8, 9, 16)" in errors[0].message
    assert "batch_first=True)" in errors[0].fixes[0].message
    assert len(errors) == 1 + (mask == "tgt.size(1)")
    if errors[1:]:
        assert errors[1].code == "attention-mask-shape"
        assert errors[1].fixes[0].message == "`shifted.size(1)`"


def test_a_transformer_that_is_batch_first_is_right(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, _write(FIRST)).findings
    assert not [finding for finding in findings if finding.severity == "error"]


def test_batches_of_other_sizes_are_not_explained_so(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, _write(source="(6, 9)")).findings
    assert "built without" not in findings[0].message
