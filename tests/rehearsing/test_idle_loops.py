"""Loops of plain Python go on without being looked at, until they call torch."""

from __future__ import annotations

from pathlib import Path

from tests.rehearsing.rehearsed import moments, rehearsed

SORTS = """\
rows = [[] for _ in range(300)]
count = 0
for i in range(300):
    for j in range(300):
        rows[i].append(j)
        count += 1
while count > 0:
    count -= 3
assert count == 0 and all(len(row) == 300 for row in rows)
"""

COLLECTS = """\
import torch
from torch import nn

net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
memory, steps, turn = [], 0, 0
for step in range(2000):
    memory.append(step)
    if step % 100 == 99:
        loss = net(torch.randn(8, 4)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
while turn < 2000:
    turn += 1
    if turn % 100 == 99:
        loss = net(torch.randn(8, 4)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
assert step == 1999 and turn == 2000
"""


def test_loops_without_a_call_run_whole_and_are_no_story(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SORTS)
    assert not report.findings
    assert report.rehearsal is not None
    assert not moments(report.rehearsal.story, "loop")
    assert not report.rehearsal.skipped


def test_a_loop_that_trains_now_and_then_is_still_cut(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, COLLECTS)
    assert not report.findings
    assert report.rehearsal is not None
    assert 2 <= report.rehearsal.steps < 16
    loops = moments(report.rehearsal.story, "loop")
    assert [each.line for each in loops] == [7, 14]
    assert loops[0].total == 2000
    assert len(loops[0].turns) < 300
