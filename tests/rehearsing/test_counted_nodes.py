"""Counts of edges, one for each node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

GRAPH = """\
import torch

num_nodes = 7
x = torch.randn({nodes}, 3)
src = torch.tensor([0, 1, 2, 3, 4])
dst = torch.tensor([1, 0, 3, 4, 2])

def average(x, src, dst):
    total = torch.zeros_like(x).index_add(0, dst, x[src])
    {degrees}
    return {mean}

print(average(x, src, dst).shape)
"""
DIVIDED = "total / degrees.unsqueeze(-1)"


@pytest.mark.parametrize(
    ("nodes", "degrees", "mean", "new"),
    [
        ("num_nodes", "degrees = torch.bincount(dst)", DIVIDED, "num_nodes"),
        ("num_nodes", "degrees = torch.bincount(dst).clamp(min=1).float()",
         "total * (1 / degrees)[:, None]", "num_nodes"),
        ("num_nodes", "degrees = dst.bincount()", DIVIDED, "num_nodes"),
        ("9", "degrees = torch.bincount(dst)", DIVIDED, "total.shape[0]"),
        ("9", "n, d = x.shape\n    degrees = torch.bincount(dst)", DIVIDED, "n"),
    ],
)  # fmt: skip
def test_nodes_without_edges_are_counted(
    nodes: str, degrees: str, mean: str, new: str, tmp_path: Path
) -> None:
    text = GRAPH.format(nodes=nodes, degrees=degrees, mean=mean)
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    (fix,) = finding.fixes
    assert f"minlength={new})" in fix.message
    assert fix.checked


@pytest.mark.parametrize(
    "degrees",
    [
        "degrees = torch.bincount(dst, minlength=len(x))",
        "degrees = torch.zeros(len(x)).index_add(0, dst, torch.ones(5))",
    ],
)
def test_counts_of_all_nodes_are_quiet(degrees: str, tmp_path: Path) -> None:
    text = GRAPH.format(nodes="num_nodes", degrees=degrees, mean=DIVIDED)
    assert not rehearsed(tmp_path, text).findings


def test_counts_with_a_length_are_not_made_longer(tmp_path: Path) -> None:
    degrees = "degrees = torch.bincount(dst, minlength=5)"
    text = GRAPH.format(nodes="num_nodes", degrees=degrees, mean=DIVIDED)
    report = rehearsed(tmp_path, text)
    fixes = [fix.message for f in report.findings for fix in f.fixes]
    assert not any("minlength=5, minlength" in fix for fix in fixes)
