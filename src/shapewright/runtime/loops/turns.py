"""Loops of programs and libraries: iterations until nothing new comes, then the last.

Conditions of libraries on steps, `step % 100 == 0`, hold once as in a whole run.

Batches of a library's loop are cut by their loader (`data_loaders.py`). An iteration
over epochs starts its own passes over loaders; an iteration over batches does not.

A rehearsal runs few iterations. The actions of a whole run at every 500th step
(evaluate, save, log) run once, at the second step that comes to the condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import get_ident
from typing import Any

import torch

from shapewright.engine.call_sites import USER, classify_file
from shapewright.engine.identity import numbers
from shapewright.program.loop_conditions import has_counters
from shapewright.program.loop_instrumentation import has_training_loops
from shapewright.program.spans import is_installed
from shapewright.runtime.loops.counts import LONGEST_PERIOD, NOTHING, Told
from shapewright.runtime.loops.iterables import Items, make_skippable
from shapewright.runtime.loops.loop_state import Plain, RehearsalState, RunningLoop
from shapewright.runtime.training.story import Node, format_file

STEADY = 3
"""Turns with equal growth, after which later turns are assumed to grow equally."""


TELLING = 2
"""Turns in which a list gets tensors with their graphs, to say that they are kept."""


class _Pattern:
    """The calls in the last iteration of a loop, and how much their shapes grew."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.sizes: list[tuple[int, ...]] = []
        self.grown: list[tuple[int, ...]] = []
        self.steady = 0
        self.handed: set[int] = set()  # numbers of tensors that grew, made before

    def take(self, events: Iterable[tuple[Any, ...]], began: int) -> None:
        """Record an iteration's calls; older tensors have numbers below `began`."""
        calls: list[Any] = []
        sizes: list[tuple[int, ...]] = []
        before: list[tuple[int, int]] = []
        for answer, ins, outs, site, _ in events:
            name = answer.func if isinstance(answer.func, str) else id(answer.func)
            kinds = [(info.meta.torch_dtype, len(info.meta.shape)) for info in ins]
            calls.append((site, name, len(outs), *kinds))
            for info in ins:
                if info.number < began:
                    before.append((len(sizes), info.number))
                sizes.append(info.meta.shape)
            sizes += [info.meta.shape for info in outs]
        grown: list[tuple[int, ...]] = []
        if calls and calls == self.calls and len(sizes) == len(self.sizes):
            grown = [
                tuple([new - old for new, old in zip(shape, old_shape, strict=False)])
                for shape, old_shape in zip(sizes, self.sizes, strict=True)
            ]
        self.steady = self.steady + 1 if grown and grown == self.grown else 0
        self.handed = {number for at, number in before if grown and any(grown[at])}
        self.calls, self.sizes, self.grown = calls, sizes, grown

    def is_known(self, extended: Collection[int]) -> bool:
        """Return whether later iterations grow as these did; `extended` can be
        lengthened.
        """
        return self.steady >= STEADY and self.handed <= set(extended)


FEWEST = 2
"""Turns of a loop that trains before any may be left out."""

MOST = 6
"""Turns of such a loop that each bring something new, before the rest is left out."""

PATIENT = 16
"""Turns of a loop that only calls a model: its results may be counted afterwards."""

PATIENT_FOR_MEMORY = 4
"""The same where a script runs for its memory: another run has told the rest."""


class Turns(RunningLoop):
    """The iterations of one loop."""

    def __init__(
        self,
        stage: RehearsalState,
        file: str = "",
        line: int = 0,
        facts: Told = NOTHING,
    ) -> None:
        super().__init__(stage, file, line, facts)
        self.pattern = _Pattern()
        self.seen: set[Any] = set()
        self.calls = self.fresh = False
        self.emptied = False  # its body asked a loader for more than it has
        self.watched = self.outside or not torch.is_grad_enabled()
        self.depth = stage.calls.records[self.caller].depth if self.caller else 0
        self.models: set[int] = set()
        self.begin()

    def begin(self) -> None:
        """Begin an iteration."""
        stage = self.stage
        self.trained, self.fetched = stage.trained, len(stage.fetched)
        self.number = next(numbers)
        self.event, self.call = len(stage.engine.events), len(stage.calls.records)
        self.growing.begin()
        if stage.later is None and (self.trains or self.loads):
            stage.later = self.event

    def was_idle(self) -> bool:
        """Return whether nothing happened in the last iteration."""
        stage = self.stage
        return stage.marks() == (self.event, self.fetched, self.trained)

    def pause(self) -> None:
        """Stop observing the iterations of the loop for now."""
        if self in self.stage.loops:
            self.stage.loops.remove(self)

    def resume(self, node: Node, began: int, ended: int) -> None:
        """Observe the loop again after an iteration that was not idle."""
        if self.watched and self not in self.stage.loops:
            self.stage.loops.append(self)
        self.ran += ended - began - 1
        node.ran += ended - began
        node.turns.update(dict.fromkeys(range(began + 1, ended + 1)))
        self.counts.forget()
        self.growing.forget()
        self.growing.begin()
        self.done()  # what it was is seen since the pause began

    def forget(self, node: Node) -> None:
        """Remove the loop from the story if no event of the story happened in it."""
        if self.outside and not node.inner:
            for parent in self.stage.story.at[-2:-1]:
                parent.forget(node)

    def left_out(self, turns: int) -> None:
        """Account for `turns` iterations that are skipped before the next one."""
        if turns > 0 and not (self.trains or self.loads):
            self.omitted += turns
            if self.stage.jumped is None:
                self.stage.jumped = len(self.stage.engine.events)
        self.counts.left_out(turns)
        self.growing.left_out(turns)

    def done(self) -> None:
        """End an iteration: note its kind and whether it brought anything new."""
        stage = self.stage
        self.growing.done()
        self.count()
        self.counts.read()
        if len(stage.fetched) > self.fetched and stage.trained == self.trained:
            stage.facts.modes.evaluated(self.call, self.event)

    def count(self) -> None:
        """Count the iteration, and note what happened in it."""
        stage = self.stage
        self.ran += 1
        self.trains |= stage.trained > self.trained
        self.loads |= len(stage.fetched) > self.fetched
        records = stage.calls.records
        calls = records[self.call :]
        models = {call.key for call in calls if call.depth == self.depth + 1}
        self.calls = self.watched and bool(models) and models == self.models
        self.models = models
        plain = stage.plain
        keys = {_make_key(event, plain) for event in self.events()}
        self.fresh = not keys <= self.seen
        self.seen |= keys
        if self.calls and not (self.trains or self.loads):
            self.pattern.take(self.events() if self.fresh else (), self.number)
        kept = self.graphs.kept(self.ran)
        if kept is not None:
            stage.facts.meet("graph-kept", kept, self.place)
        if stage.trained > self.trained and self.growing.keeps_graphs(TELLING):
            stage.facts.meet("graphs-listed", self.place)

    def events(self) -> Iterator[tuple[Any, ...]]:
        """Yield the calls of the iteration, except those that made items of batches.

        Two items lie at different places of the same data.
        """
        events, at = self.stage.engine.events, self.event
        for began, ended in self.stage.made[self.fetched :]:
            yield from events[at:began]
            at = max(at, ended)
        yield from events[at:]

    def told(self, stack: ExitStack) -> Node:
        """Return the loop's story node, which is current until `stack` closes."""
        file, line = self.place
        if not self.outside:  # a model's own loop is no part of the story
            if self.watched:
                self.stage.loops.append(self)
                stack.callback(self.left)
            return Node("loop", file, line)
        story, loops = self.stage.story, self.stage.loops
        node = story.at[-1].child("loop", file, line, "")
        stack.enter_context(story.within(node))
        loops.append(self)
        stack.callback(self.left)
        return node

    def left(self) -> None:
        """Leave the loop."""
        stage, file = self.stage, self.place[0]
        self.pause()
        if stage.memory is not None:
            stage.memory.end_loop(self)
        for line, test in self.counts.waited():
            stage.waited.setdefault((file, line), test)
        if self.omitted:
            place = f"{format_file(file, stage.story.folder)}:{self.place[1]}"
            both = self.ran, self.ran + self.omitted
            stage.story.skip(
                f"{place}: {both[0]:,} of {both[1]:,} turns were run, the others "
                "repeat their calls"
            )

    def cut(self, node: Node, source: Any) -> None:
        """Report that the loop ended early."""
        total = getattr(source, "total", None)
        if total is not None and self.ran >= total:
            return
        of = f" of {total}" if total is not None else ""
        story = self.stage.story
        place = f"{format_file(node.file, story.folder)}:{node.line}"
        story.skip(f"{place}: the loop ended after {self.ran}{of} turns")

    def is_enough(self) -> bool:
        """Return whether more iterations, except the last, would bring nothing new."""
        if self.loads and self.stage.full:
            return False
        if self.stage.hurried and (self.trains or self.loads):
            return not self.growing.lists.held or self.ran >= FEWEST
        if not (self.trains or self.loads):
            patient = PATIENT if self.stage.memory is None else PATIENT_FOR_MEMORY
            return self.calls and self.ran >= patient and self.can_leave_out()
        if self.ran < self.least():
            return False
        return not self.fresh or self.ran >= MOST

    def can_leave_out(self) -> bool:
        """Return whether iterations of a loop that does not train may be skipped.

        Their effects are known: lists to which every turn adds, and tensors that every
        turn extends by the same amount.
        """
        if self.stage.whole or self.counts.uneven:
            return False
        return not self.fresh or self.pattern.is_known(self.growing.extended)

    def least(self) -> int:
        """Return how many iterations meet the conditions on uncounted values."""
        return max(FEWEST, self.counts.least())


def _make_key(event: tuple[Any, ...], plain: Plain) -> tuple[Any, ...]:
    """Return the key of a call: its place, its operator, and the metadata in and out.

    The offset of a tensor in its storage is not part of it: `betas[t]` in each turn.
    """
    answer, ins, outs, site, _ = event
    name = answer.func if isinstance(answer.func, str) else id(answer.func)
    return (
        site,
        name,
        tuple([plain.key(info.meta) for info in ins]),
        tuple([plain.key(info.meta) for info in outs]),
    )


FEWEST_EPOCHS = 3
"""Epochs that run: state kept from one epoch to the next shows in the third."""


class _Epochs(Turns):
    """The iterations of a library's loop."""

    def __init__(self, stage: RehearsalState, total: int | None = None) -> None:
        super().__init__(stage)
        self.total = total
        self.whole = False  # the last turn was an epoch
        stage.loops.append(self)

    def done(self) -> None:
        """End an iteration: note whether it was an epoch and brought anything new."""
        began, fetched = self.fetched, self.stage.fetched[self.fetched :]
        self.whole = bool(fetched) and all(batch.born >= began for batch in fetched)
        self.count()

    def is_enough(self) -> bool:
        """Return whether more epochs would bring nothing new."""
        if not self.whole or self.stage.full or self.ran < FEWEST_EPOCHS:
            return False
        return not self.fresh or self.ran >= MOST

    def report_cut(self) -> None:
        """Report the line of the program at which epochs were skipped."""
        story = self.stage.story
        file, line = story.line(self.stage.engine)
        of = f" of {self.total}" if self.total is not None else ""
        place = f"{format_file(file, story.folder)}:{line}"
        story.skip(f"{place}: the library's epochs ended after {self.ran}{of}")

    def end(self) -> None:
        """Leave the loop."""
        if self in self.stage.loops:
            self.stage.loops.remove(self)


def iter_epochs(
    stage: RehearsalState, inner: Any, file: str, line: int, facts: Any
) -> Iterator[Any]:
    """Yield the items of a library's `for` loop as long as they bring something new."""
    if get_ident() != stage.thread:
        yield from inner
        return
    source = make_skippable(inner)
    turns = _Epochs(stage, source.total)
    try:
        for item in source:
            turns.begin()
            yield item
            turns.done()
            if turns.is_enough():
                turns.report_cut()
                if not (isinstance(source, Items) and source.skip(None)):
                    return
                yield from source
                return
    finally:
        turns.end()


class Asked:
    """The iterations of a library's `while` loop, called with its condition."""

    def __init__(self, stage: RehearsalState, file: str, line: int, facts: Any) -> None:
        self.turns = _Epochs(stage)
        self.began = False

    def __call__(self, condition: Any) -> Any:
        if get_ident() != self.turns.stage.thread:
            return condition
        if self.began:
            self.turns.done()
            if condition and self.turns.is_enough():
                self.turns.report_cut()
                return False
        self.began = True
        if condition:
            self.turns.begin()
        return condition

    def end(self) -> None:
        """Leave the loop."""
        self.turns.end()


REACHED = 3
"""Turns that a library's loop has in any case."""

Key = tuple[str, int, int]
"""The condition in words, its number in its file, and the period."""


@dataclass
class Periods:
    """The values of each condition, and the count at which it was treated as due.

    A count is a number that grows by one from one step of the training to the next:
    sizes, or the numbers of layers, do not.
    """

    stage: RehearsalState
    seen: dict[Key, dict[int, int]] = field(default_factory=dict)
    chosen: dict[Key, int] = field(default_factory=dict)

    def due(self, count: Any, period: Any, words: str, at: int, library: bool) -> Any:
        """Return `count % period`, or zero if the condition is treated as met."""
        left = count % period
        least = REACHED if library else LONGEST_PERIOD
        if type(count) is not int or type(period) is not int or period <= least:
            return left
        stage, key = self.stage, (words, at, period)
        if stage.full or get_ident() != stage.thread:
            return left
        if self.chosen.get(key) == count:
            return 0
        if left == 0:
            if count or not library:
                self.chosen.setdefault(key, count)
            return 0
        seen = self.seen.setdefault(key, {})
        trained = seen.setdefault(count, stage.trained)
        before = seen.get(count - 1)
        if key in self.chosen or before is None or before >= trained:
            return left
        self.chosen[key] = count
        stage.engine.assume(f"`{words}` with {period} taken as 0 at {count}")
        return 0

    def exceeds(self, setting: Any, length: Any) -> Any:
        """Return `setting > length`, with the real length of a shortened loader."""
        if type(length) is int:
            length = self.stage.shortened.get(length, length)
        return setting > length


@cache
def is_of_training_library(file: str) -> bool:
    """Return whether a file of a library other than torch may loop over epochs."""
    text = _read_library_text(file)
    return text is not None and has_training_loops(text, file)


@cache
def is_of_counting_library(file: str) -> bool:
    """Return whether a file of a library may have conditions on counts."""
    text = _read_library_text(file)
    return text is not None and has_counters(text)


@lru_cache(maxsize=1)  # two questions are asked of each file
def _read_library_text(file: str) -> bytes | None:
    """Return the text of a library's file, or None for torch and other files."""
    if not is_installed(file) or classify_file(file) != USER:
        return None
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError:
        return None
