"""Memory that grows from turn to turn, in the findings that say what is kept.

One mistake is one finding: a loss that is kept with its graph is an error where the
device that is named is full before the loop ends.
"""

from __future__ import annotations

from dataclasses import replace

from shapewright.analysis.training_mistakes.context import RehearsalContext
from shapewright.findings.finding import Finding
from shapewright.record.rehearsed_memory import (
    Growth,
    LoopTurn,
    RehearsedMemory,
    Shortage,
)
from shapewright.record.report import Place
from shapewright.views.formatting import format_nbytes


def describe_end(memory: RehearsedMemory, growth: Growth) -> str:
    """Return at which turn the device is full: ```T4 16GB` is full in turn 374``."""
    of = f" of {growth.count:,}" if growth.count is not None else ""
    if growth.full_at is not None:
        turn = f"{growth.full_at:,}"
        if growth.full_from is not None and growth.full_from != growth.full_at:
            turn = f"{growth.full_from:,} to {turn}"
        return f"`{memory.device}` is full in turn {turn}{of}"
    assert growth.full_from is not None
    return f"`{memory.device}` may be full from turn {growth.full_from:,}{of}"


def find_full_turn(memory: RehearsedMemory, turn: LoopTurn) -> int:
    """Return the turn of a loop in which the device is full, found full in `turn`.

    Of a long loop the first turns ran and the last: what each keeps may fill the device
    in one between.
    """
    growth = memory.find_growth((turn.file, turn.line))
    if growth is None or growth.full_at is None:
        return turn.number
    return min(turn.number, growth.full_at)


def add_growth(
    scene: RehearsalContext, finding: Finding, loop: Place | None
) -> Finding:
    """Return a finding with how much is kept in each turn, and when it is too much.

    It is an error where the loop does not reach its end.
    """
    memory = scene.rehearsal.memory
    growth = memory.find_growth(loop) if memory is not None else None
    if memory is None or growth is None:
        return finding
    size = format_nbytes(growth.bytes)
    met = memory.shortage
    turn = met.turn if met is not None else None
    if met is not None and turn is not None and (turn.file, turn.line) == loop:
        return _add_shortage(finding, memory, size, met, turn)
    if met is not None:  # the device is full elsewhere
        line = f"{size} more with each turn"
        return replace(finding, lines=(*finding.lines, line))
    if growth.full_from is None and growth.full_at is None:
        line = f"{size} more with each turn, for which there is room"
        if memory.capacity is None or growth.count is None:
            line = f"{size} more with each turn"
        return replace(finding, lines=(*finding.lines, line))
    is_sure = growth.full_at is not None and growth.count is not None
    return replace(
        finding,
        message=f"{finding.message}; with {size} in each turn, "
        f"{describe_end(memory, growth)}",
        severity="error" if is_sure else finding.severity,
    )


def _add_shortage(
    finding: Finding,
    memory: RehearsedMemory,
    size: str,
    shortage: Shortage,
    turn: LoopTurn,
) -> Finding:
    """Return a finding about a loop in which the device is full in a turn that ran."""
    if turn.number == 1:  # what is kept has no part in it
        line = f"{size} more with each turn"
        return replace(finding, lines=(*finding.lines, line))
    number = f"{find_full_turn(memory, turn):,}"
    number += f" of {turn.total:,}" if turn.total is not None else ""
    end = "is full in turn" if shortage.is_sure else "may be full in turn"
    return replace(
        finding,
        message=f"{finding.message}; with {size} in each turn, `{memory.device}` {end} "
        f"{number}",
        severity="error" if shortage.is_sure else finding.severity,
    )
