"""What grows from turn to turn of a loop, and at which turn the device is full.

A rehearsal runs the first turns of a loop and the last. A turn keeps what it made and
what still lives at the end of the next that ran, if there is more after each and what
the turn before it made lives too. In a straight line this gives the turn of a real run
at which there is no room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shapewright.record.memory import (
    ALLOCATE,
    BUFFERS,
    GRADIENTS,
    OPTIMIZER,
    PARAMETERS,
    HeldBytes,
)
from shapewright.record.rehearsed_memory import Growth, LoopTurn, RecordedRun

KEPT = 0.5
"""Share of a turn's growth that the turns of an outer loop must keep of it."""

STATES = (PARAMETERS, BUFFERS, GRADIENTS, OPTIMIZER)
"""Kinds that do not grow."""

MOST_HELD = 3
"""Lines that make what is kept, at most."""


@dataclass(slots=True)
class _Measured:
    """The most bytes within a turn, the bytes at its end, its first and last event."""

    step: int
    turn: LoopTurn
    most: int = 0
    end: int = 0
    began: int = -1
    event: int = -1


def find_growth(
    run: RecordedRun, granularity: int, limits: tuple[int, int] | None
) -> tuple[Growth, ...]:
    """Return what grows in the loops of a run, and where it meets the limits.

    `limits` are the bytes of tensors for which there is room, at least and at most.
    Example: 8 GiB, and 1 GiB more with each turn, are more than 16 GiB in turn 9.
    """
    measured = _measure_turns(run, granularity)
    groups: dict[tuple[str, int], dict[int, list[_Measured]]] = {}
    for entry in measured:
        turn = entry.turn
        loop = groups.setdefault((turn.file, turn.line), {})
        loop.setdefault(turn.outer, []).append(entry)
    growths = []
    for passes in groups.values():
        growth = _find_growth_of_loop(run, list(passes.values()), limits, granularity)
        if growth is not None:
            growths.append(growth)
    around = {place for growth in growths for place in _find_loops_around(run, growth)}
    return tuple(g for g in growths if (g.file, g.line) not in around)


def _find_loops_around(run: RecordedRun, growth: Growth) -> set[tuple[str, int]]:
    """Return the loops around a loop that grows: of its turns, they saw only a few."""
    around: set[tuple[str, int]] = set()
    for turn in run.turns:
        if (turn.file, turn.line) == (growth.file, growth.line):
            outer = run.get_turn(turn.outer)
            while outer is not None:
                around.add((outer.file, outer.line))
                outer = run.get_turn(outer.outer)
    return around - {(growth.file, growth.line)}


def _measure_turns(run: RecordedRun, granularity: int) -> list[_Measured]:
    """Return the measures of all turns; what an inner loop does belongs to both."""
    measured = [_Measured(step, turn) for step, turn in enumerate(run.turns, 1)]
    sizes: dict[int, int] = {}
    total = 0
    for place, event in enumerate(run.events.events):
        size = -(-event.bytes // granularity) * granularity
        total += size - sizes.get(event.storage, 0)
        sizes[event.storage] = size
        step = event.step
        while step > 0:
            entry = measured[step - 1]
            entry.most = max(entry.most, total)
            entry.end, entry.event = total, place
            entry.began = place if entry.began < 0 else entry.began
            step = entry.turn.outer
    return [entry for entry in measured if entry.event >= 0]


def _find_growth_of_loop(
    run: RecordedRun,
    passes: Sequence[Sequence[_Measured]],
    limits: tuple[int, int] | None,
    granularity: int,
) -> Growth | None:
    """Return what grows in a loop, of all times that it ran; None if nothing does."""
    turns = passes[0]
    growing = _find_growing_turns(turns)
    if growing is None:
        return None
    first, second, third = growing
    before = _find_kept(run, first, third.event, granularity)
    kept = _find_kept(run, second, third.event, granularity)
    size = sum(kept.values())
    if not before or not size:  # sizes of batches differ, or one turn keeps the last
        return None
    file, line = second.turn.file, second.turn.line
    count = _count_turns(run, passes, second.turn.number, size)
    full: list[int | None] = [None, None]
    for at, limit in enumerate(limits or ()):
        left = (limit - second.most) // size
        turn = second.turn.number + int(left) + 1
        if left >= 0 and (count is None or turn <= count):
            full[at] = turn
    held = _list_lines(run, kept)
    return Growth(file, line, size, count, full[1], full[0], held)


def _find_growing_turns(
    turns: Sequence[_Measured],
) -> tuple[_Measured, _Measured, _Measured] | None:
    """Return the last two neighbours that grow, with the next turn that ran and grows.

    Without a third turn nothing says that it goes on.
    """
    for at in range(len(turns) - 3, -1, -1):
        first, second, third = turns[at : at + 3]
        if second.turn.number != first.turn.number + 1:
            continue
        if second.end > first.end and third.end > second.end:
            return first, second, third
    return None


def _count_turns(
    run: RecordedRun, passes: Sequence[Sequence[_Measured]], number: int, size: int
) -> int | None:
    """Return how many turns a real run makes before what is kept is freed.

    Where the next pass over the loop finds it still there, the turns of the loop around
    it count too.
    """
    turn = passes[0][0].turn
    count = turn.total
    ends = [
        next((entry.end for entry in turns if entry.turn.number == number), None)
        for turns in passes[:2]
    ]
    if len(ends) < 2 or ends[0] is None or ends[1] is None:
        return count
    if ends[1] - ends[0] <= KEPT * size:
        return count
    outer = run.get_turn(turn.outer)
    if count is None or outer is None or outer.total is None:
        return None
    return count * outer.total


def _find_kept(
    run: RecordedRun, turn: _Measured, ended: int, granularity: int
) -> dict[int, int]:
    """Return the bytes of the storages that a turn made and that live after an event.

    Parameters and what belongs to them are made once.
    """
    events, storages = run.events.events, run.events.storages
    sizes: dict[int, int] = {}
    for event in events[turn.began : turn.event + 1]:
        is_new = event.action == ALLOCATE and storages[event.storage].kind not in STATES
        if is_new or event.storage in sizes:
            sizes[event.storage] = -(-event.bytes // granularity) * granularity
    for event in events[turn.event + 1 : ended + 1]:
        if event.storage in sizes:
            sizes[event.storage] = -(-event.bytes // granularity) * granularity
    return {number: size for number, size in sizes.items() if size}


def _list_lines(run: RecordedRun, kept: dict[int, int]) -> tuple[HeldBytes, ...]:
    """Return the lines that made what is kept, the most first."""
    lines: dict[tuple[str, int], int] = {}
    for number, size in kept.items():
        origin = run.events.storages[number]
        place = origin.file, origin.line
        lines[place] = lines.get(place, 0) + size
    ordered = sorted(lines, key=lambda place: (-lines[place], place))
    return tuple(
        HeldBytes(lines[place], place[0], place[1], "") for place in ordered[:MOST_HELD]
    )
