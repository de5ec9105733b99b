"""What is told where a GPU has no room."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.test_rehearsed_memory import find_shortage, rehearse
from shapewright.views.terminal.rehearsal import format_story

SECOND_TURN = """
    model = build(2048, 4).eval()
    kept = []
    for x, y in DataLoader(Data(2048, 4_000_000), {batch}, collate_fn=join):
        kept.append(model(x.to(device)))
    """
"""Outputs that keep their graph: five layers of 2048 floats for each sample."""


@pytest.mark.parametrize("batch", [200_000, 160_000])
def test_a_loop_that_is_full_in_a_turn_that_ran_has_no_room(
    tmp_path: Path, batch: int
) -> None:
    report = rehearse(tmp_path, SECOND_TURN.format(batch=batch), "T4")
    shortage = find_shortage(report)
    (turn,) = (r.message for r in shortage.related if "of this loop" in r.message)
    number = turn.removeprefix("in turn ").partition(" ")[0]
    assert number in ("2", "3")
    (kept,) = (f for f in report.findings if f.code == "evaluated-with-graph")
    assert kept.severity == "error"
    assert f"`T4 16GB` is full in turn {number} of " in kept.message
    assert not any("there is room" in line for line in kept.lines)
    # a smaller batch keeps as much in the end, so none is named that "fits"
    assert not any("fits" in line for line in shortage.lines)
    assert "some turns later" in shortage.lines[-1]


def test_sentences_are_wrapped_to_the_width(tmp_path: Path) -> None:
    report = rehearse(tmp_path, SECOND_TURN.format(batch=160_000), "T4")
    shortage = find_shortage(report)
    page = format_story(report, 80)
    rows = page.splitlines()
    first = next(i for i, row in enumerate(rows) if "error[out-of-memory]" in row)
    notes = [row for row in rows[first + 1 :] if row.startswith("   ")]
    assert len(notes) > 4
    assert all(len(row) <= 80 for row in notes)
    words = " ".join(" ".join(rows).split())
    for line in shortage.lines:
        assert " ".join(line.split()) in words
