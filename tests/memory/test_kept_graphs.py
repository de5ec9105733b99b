"""Memory that grows is told at the statement that keeps the graph of each turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.api import rehearse_script
from shapewright.record.report import Report

SCRIPT = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 4096), nn.Tanh(), nn.Linear(4096, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total, kept, by_step = 0, [], {{}}
for step in range(10_000):
    x = torch.randn(512, 64, device="cuda")
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    clean = model(x.abs()).square().mean()
    {keeps}
"""
KEEPS = {
    "total += clean": "clean",
    "total = total + clean / 3": "clean",
    "kept.append(clean)": "clean",
    "by_step[step] = clean": "clean",
    "kept.append(model(x + 1))": "model(x + 1)",
    "total = total + model(x + 1).mean() / 3": "model(x + 1).mean()",
}
LEGAL = (
    "total += clean.item()", "kept.append(clean.detach())", "total += float(clean)",
    "kept.append(model(x + 1).detach())", "by_step[step % 3] = clean",
    "total = total + model(x + 1).mean().item()",
)  # fmt: skip


def rehearsed(folder: Path, keeps: str) -> Report:
    script = folder / "train.py"
    script.write_text(SCRIPT.format(keeps=keeps))
    return rehearse_script(str(script), device="T4")


@pytest.mark.parametrize("keeps", KEEPS)
def test_what_is_kept_is_named(tmp_path: Path, keeps: str) -> None:
    (finding,) = rehearsed(tmp_path, keeps).findings
    assert finding.code == "graph-kept"
    assert finding.severity == "error"
    assert finding.span is not None
    assert finding.span.line == 14
    assert f"`{KEEPS[keeps]}` is kept with its graph" in finding.message
    assert "`T4 16GB` is full in turn" in finding.message
    assert any(".detach()" in fix.message for fix in finding.fixes)


@pytest.mark.parametrize("keeps", LEGAL)
def test_values_are_no_graphs(tmp_path: Path, keeps: str) -> None:
    findings = rehearsed(tmp_path, keeps).findings
    assert not [f.code for f in findings if f.code in ("graph-kept", "out-of-memory")]


def test_a_sum_over_views_is_named_where_it_is_full(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        SCRIPT.format(keeps="pass").replace(
            "    loss = model(x).square().mean()\n",
            "    loss = 0\n"
            "    for view in range(4000):\n"
            "        loss = loss + model(x * view).square().mean()\n",
        )
    )
    (finding,) = rehearse_script(str(script), device="T4").findings
    assert finding.code == "out-of-memory"
    texts = map(str, finding.related)
    assert any("is kept here with its graph" in text for text in texts)
