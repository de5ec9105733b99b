"""Pruned weights: those without a mask, and masks that are cut from one vector."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.nn.utils import prune

model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 12), nn.Linear(12, 3))
{pruned}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 12)).pow(2).mean().backward()
    optimizer.step()
{removed}
"""
LISTED = """\
layers = [(m, "weight") for m in model if isinstance(m, nn.Linear)][:2]
prune.global_unstructured(layers, pruning_method=prune.L1Unstructured, amount=0.5)"""
FIRST = 'prune.l1_unstructured(model[0], "weight", amount=0.3)'
LOOP = """\
for m in model.modules():
    if isinstance(m, nn.Linear):
        prune.remove(m, "weight")"""
MISTAKES = {
    "a list": (LISTED, "`for module, name in layers:`"),
    "single layers": (FIRST, '`if hasattr(m, "weight_orig"):`'),
}
BY_HAND = """\
weights = [m.weight for m in model if isinstance(m, nn.Linear)][:2]
flat = torch.cat([w.detach().abs().flatten() for w in weights])
mask = (flat > flat.kthvalue(100).values).float()
start = 0
with torch.no_grad():
    for w in weights:
        w.mul_(mask[start : start + w.numel()].view_as(w))
        start += w.numel()"""
RIGHT = {
    "removed from what is pruned": (
        LISTED, "for m, name in layers:\n    prune.remove(m, name)",
    ),
    "by hand": (BY_HAND, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_masks_are_removed_where_there_are_any(tmp_path: Path, name: str) -> None:
    pruned, fix = MISTAKES[name]
    report = rehearsed(tmp_path, PROGRAM.format(pruned=pruned, removed=LOOP))
    assert [finding.severity for finding in report.findings] == ["error"]
    finding = report.findings[-1]
    assert "`m` was not pruned" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_weights_of_one_vector_are_no_mixed_dims(tmp_path: Path, name: str) -> None:
    pruned, removed = RIGHT[name]
    report = rehearsed(tmp_path, PROGRAM.format(pruned=pruned, removed=removed))
    assert report.findings == ()
