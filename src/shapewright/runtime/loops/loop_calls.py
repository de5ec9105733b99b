"""The functions that an instrumented program calls from its loops
(`program/loop_instrumentation.py`).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from shapewright.program.loop_conditions import DUE, EXCEEDS
from shapewright.program.loop_instrumentation import (
    CARRIES,
    COUNTED,
    COUNTS,
    EPOCHS,
    GREW,
    GROWS,
    LONGER,
    MET,
    ON,
    OVER,
    TURNS,
    WHILE,
)
from shapewright.runtime.loops.counts import Told
from shapewright.runtime.loops.iterables import (
    Counted,
    Items,
    LoaderPass,
    SkippableIterator,
    count_items,
    make_skippable,
)
from shapewright.runtime.loops.loop_state import RehearsalState, RunningLoop
from shapewright.runtime.loops.turns import Asked, Periods, Turns, iter_epochs


@contextmanager
def watch_loops(stage: RehearsalState) -> Iterator[None]:
    """Define the functions that an instrumented program calls, as builtins."""
    periods = Periods(stage)
    names: dict[str, Any] = {
        OVER: partial(iter_turns, stage),
        WHILE: partial(_Going, stage),
        COUNTED: count_items,
        ON: partial(_set_count, stage),
        GREW: partial(_note_growth, stage),
        COUNTS: partial(_note_count, stage),
        CARRIES: partial(_check_carried, stage),
        GROWS: partial(_is_lengthened, stage),
        LONGER: partial(_lengthen_value, stage),
        MET: lambda *place: stage.met.add(place),
        EPOCHS: partial(iter_epochs, stage),
        TURNS: partial(Asked, stage),
        DUE: periods.due,
        EXCEEDS: periods.exceeds,
    }
    vars(builtins).update(names)
    try:
        yield
    finally:
        for name in names:
            vars(builtins).pop(name, None)


def iter_turns(
    stage: RehearsalState, inner: Any, file: str, line: int, facts: Told
) -> Iterator[Any]:
    """Yield the items of a `for` loop while they bring something new, then the last."""
    source, place = make_skippable(inner), (file, line)
    if stage.idle.is_met(place) and (yield from _iter_plainly(stage, source, place)):
        return
    turns = Turns(stage, file, line, facts)
    with ExitStack() as stack:
        node = turns.told(stack)
        left, reached = True, source.at
        while True:
            if stage.idle.is_met(place):
                began = source.at
                turns.pause()
                if (yield from _iter_plainly(stage, source, place)):
                    turns.forget(node)
                    return
                turns.resume(node, began, source.at)
                reached = source.at
            turns.begin()
            before = len(stage.fetched)
            try:
                item = next(source)
            except StopIteration:
                return
            heads = stage.fetched[before:]
            head: Any = heads[0] if heads else source
            turns.left_out(head.at - reached - 1)
            reached = head.at
            node.total = head.total
            node.turns[head.at] = None
            node.ran += 1
            stage.note_turn(turns, head.at, head.total)
            yield item
            turns.done()
            stage.idle.count(place, turns.was_idle())
            if left and turns.is_enough():
                if stage.hurried and not heads and not stage.lists.held:
                    return
                bodies = stage.fetched[before + len(heads) :]
                more = None if stage.hurried else _find_next_turn(turns, head, bodies)
                if more == 0 or (more and _pass_to(source, heads, reached + more)):
                    for passed in _find_passes_in_step(bodies) if more else ():
                        passed.skip(passed.at + more)
                    continue
                left = False
                if not _skip_rest(source, heads, bodies):
                    turns.counts.cut = True
                    turns.cut(node, head)
                    return


def _iter_plainly(
    stage: RehearsalState, source: SkippableIterator, place: tuple[str, int]
) -> Generator[Any, None, bool]:
    """Yield items until an iteration does something; return whether none are left."""
    marks = stage.marks()
    for item in source:
        yield item
        if stage.marks() != marks:
            stage.idle.count(place, False)
            return False
    return True


def _find_next_turn(turns: Turns, source: Any, bodies: list[LoaderPass]) -> int | None:
    """Return how many iterations to skip to reach the next one that must run.

    A condition on a count waits, and so does the last of the batches that the body asks
    for, if a whole run asks for more of them.
    """
    total, reached = source.total, source.at
    rest = min(
        (body.total - body.at for body in _find_passes_in_step(bodies)), default=None
    )
    if turns.emptied or total is None or rest is None or rest >= total - reached:
        return turns.counts.next_wanted(total, reached)
    more = turns.counts.next_wanted(reached + rest, reached)
    if more is None:
        turns.emptied = rest == 0
        more = max(0, rest - 1)
    return more


def _find_passes_in_step(bodies: list[LoaderPass]) -> list[Any]:
    """Return the passes from which the body reads one batch per iteration."""
    return [
        body
        for body in bodies
        if body.total is not None and body.at > 1 and bodies.count(body) == 1
        if body.queue is None and not body.alone
    ]


def _pass_to(source: SkippableIterator, heads: list[LoaderPass], turn: int) -> bool:
    """Make `turn` the next iteration of a loop, and return whether it exists."""
    if heads and not isinstance(source, Counted | Items) and source not in heads:
        return all([head.skip(turn) for head in heads])  # noqa: C419
    return source.skip(turn)


def _set_count(
    stage: RehearsalState, file: str, line: int, index: int, value: Any
) -> Any:
    """Return the value of a count, advanced by the iterations that were skipped."""
    turns = _find_turns(stage, file, line)
    return value if turns is None else turns.counts.set_on(index, value)


def _note_growth(
    stage: RehearsalState, container: Any, is_filled_later: bool = False
) -> Any:
    """Note an object, perhaps a list, to which the program is about to add items."""
    if not stage.making and stage.is_in_loop():
        stage.lists.note_growth(container, is_filled_later)
    return container


def _note_count(stage: RehearsalState, owner: Any, *count: Any) -> None:
    """Note a count in an object or a dict that the program is about to increment."""
    if not stage.making and stage.is_in_loop():
        stage.numbers.counts(owner, *count)


def _check_carried(stage: RehearsalState, file: str, line: int) -> bool:
    """Return whether the values carried to the next iteration must be checked."""
    turns = _find_turns(stage, file, line)
    if turns is not None:
        turns.growing.of_arrays = turns.trains or turns.loads
    return turns is not None


def _is_lengthened(
    stage: RehearsalState, file: str, line: int, index: int, value: Callable[[], Any]
) -> bool:
    """Return whether a value that a loop extends must be lengthened now."""
    turns = _find_turns(stage, file, line)
    return turns is not None and turns.growing.grows(index, value)


def _lengthen_value(
    stage: RehearsalState, file: str, line: int, index: int, value: Any
) -> Any:
    """Return a carried value, extended as by the skipped iterations."""
    turns = _find_turns(stage, file, line)
    return value if turns is None else turns.growing.longer(index, value)


def _find_turns(stage: RehearsalState, file: str, line: int) -> RunningLoop | None:
    """Return the running loop at a file and line, unless a module is called in it."""
    if not stage.is_in_loop():
        return None
    place = file, line
    return next((loop for loop in reversed(stage.loops) if loop.place == place), None)


class _Going:
    """The iterations of a `while` loop; called with the condition before each one."""

    def __init__(
        self, stage: RehearsalState, file: str, line: int, facts: Told
    ) -> None:
        self.stage, self.place, self.conditions = stage, (file, line), facts
        self.stack = ExitStack()
        self.at = self.paused = 0
        self.waiting = self.enough = False
        self.marks = stage.marks()
        self.turns: Turns | None = None
        if not stage.idle.is_met(self.place):
            self.begin()

    def begin(self) -> Turns:
        """Observe the iterations of the loop from now on."""
        self.turns = Turns(self.stage, *self.place, self.conditions)
        self.node = self.turns.told(self.stack)
        self.node.turns.update(dict.fromkeys(range(1, self.at + 1)))
        return self.turns

    def is_plain(self) -> bool:
        """Return whether the last iterations of the loop were all idle."""
        if not self.stage.idle.is_met(self.place):
            return False
        if self.stage.marks() == self.marks:
            return True
        self.stage.idle.count(self.place, False)
        if self.turns is not None:
            self.turns.resume(self.node, self.paused, self.at)
        return False

    def ended(self) -> None:
        """End an iteration, and skip some of the next ones if they bring nothing new.

        This comes before the condition is evaluated, which may read what was advanced.
        """
        if not self.waiting:
            return
        self.waiting = False
        turns = self.turns
        assert turns is not None
        turns.done()
        self.stage.idle.count(self.place, turns.was_idle())
        self.marks, self.paused = self.stage.marks(), self.at
        if self.stage.idle.is_met(self.place):
            turns.pause()
        if not turns.is_enough():
            turns.left_out(0)
            return
        more = turns.counts.next_wanted(None, self.at)
        self.enough = more is None
        self.at += more or 0
        turns.left_out(more or 0)

    def __call__(self, *asked: Any) -> Any:
        condition = asked[-1]
        self.ended()
        if self.is_plain():
            if condition:
                self.at += 1
            elif self.turns is not None:
                self.turns.forget(self.node)
            return condition
        if not condition:
            return condition
        turns = self.turns or self.begin()
        if self.enough:
            turns.counts.cut = True
            turns.cut(self.node, None)
            return False
        self.waiting = True
        self.at += 1
        turns.begin()
        self.node.turns[self.at] = None
        self.node.ran += 1
        self.stage.note_turn(turns, self.at, None)
        return condition

    def end(self) -> None:
        """Leave the loop."""
        self.stack.close()


AGAIN = 3
"""Calls of a function that trains one step: the third shows what the second kept."""


def call_step(
    stage: RehearsalState,
    call: Callable[[], Any],
    place: tuple[str, int],
    steps: int | None,
) -> Any:
    """Call a function that trains, and repeat it if each call makes a single step."""
    turns = Turns(stage, *place)
    with ExitStack() as stack:
        node = turns.told(stack)
        node.text, node.total = "call", steps
        while True:
            turns.begin()
            node.turns[turns.ran + 1] = None
            stage.note_turn(turns, turns.ran + 1, steps)
            result = call()
            turns.done()
            if turns.ran == 1 and steps is None and not stage.is_one_step():
                return result
            enough = turns.ran >= AGAIN and turns.is_enough()
            if turns.ran == steps or enough:
                return result


def _skip_rest(
    source: SkippableIterator, heads: list[LoaderPass], bodies: list[LoaderPass]
) -> bool:
    """Make the next iteration of a loop its last, and return whether it exists."""
    if heads and not isinstance(source, Counted | Items) and source not in heads:
        known = [head.total for head in heads if head.total is not None]
        both = len(known) == len(heads) > 1
        last = min(known) - 1 if both else None
        return all([head.skip(last) for head in heads])  # noqa: C419
    there = source.skip(None)
    if there:
        for body in bodies:
            if bodies.count(body) == 1 and body.total == source.total:
                body.skip(None)
    return there
