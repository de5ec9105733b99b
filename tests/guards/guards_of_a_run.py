"""The guards of a program, from a second run of it that watches its sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from shapewright.engine.tracked_sizes.comparisons import Watching
from shapewright.record.guards import Guard, Guards, SizeRead, replace_reads
from shapewright.record.ops import Fact, ModuleCall, Op, State
from shapewright.record.trace import Trace
from shapewright.runtime.run_record import RunResult


def guards_of(again: Callable[[Watching], RunResult], plain: Trace) -> Guards:
    """Run the program again, its sizes watched, and tell what it compared.

    `again` runs it with `RunRequest(guards=...)` as it is given, and else as `plain`
    was made. Where the two runs differ in anything, it is run once more without
    stand-ins for Python's own names; where they still differ, nothing is claimed.
    Feed both the same values; of a program that keeps results between runs, `plain`
    is best a second run.

        again = lambda told: record(model, (x,), {}, RunRequest(guards=told))
        guards_of(again, trace)
    """
    found = attempt(again, plain, Watching())
    if found.reason is None:
        return found
    return attempt(again, plain, Watching(stand_ins=False))


def attempt(
    again: Callable[[Watching], RunResult], plain: Trace, watching: Watching
) -> Guards:
    """One watched run: its guards, or how it differs from the plain one."""
    try:
        made = again(watching)
        watched, found = made.trace, made.guards
        if found is None:
            return Guards(reason="the run was not watched")
        numbers = Numbers()
        difference = numbers.difference(watched, plain)
    except Exception as error:
        kind = type(error).__name__
        return Guards(reason=f"the run that watched sizes failed: {kind}: {error}")
    if difference is not None:
        return Guards(reason=f"watched, the program ran otherwise: {difference}")
    return replace(
        found,
        guards=tuple(map(numbers.guard, found.guards)),
        in_torch=tuple(map(numbers.guard, found.in_torch)),
    )


class Numbers:
    """Which tensor of one run is which of the other.

    Numbers are given when a record is first read, in the order of reading.
    """

    def __init__(self) -> None:
        self.tensors: dict[int, int] = {}
        self.storages: dict[int, int] = {}

    def difference(self, one: Trace, other: Trace) -> str | None:
        """In which part two traces differ.

        Time does not count, nor do notes: what a program loads in its first run is
        noted there and not in the second.
        """
        for each in fields(one):
            if each.name in ("by", "seconds", "notes"):
                continue
            mine, theirs = getattr(one, each.name), getattr(other, each.name)
            if each.name in ("ops", "calls", "states"):
                mine, theirs = tuple(mine), tuple(theirs)
            if not self.alike(mine, theirs):
                return each.name
        for numbers in (self.tensors, self.storages):
            if len(set(numbers.values())) < len(numbers):
                return "which tensors are the same"
        return None

    def alike(self, one: Any, other: Any) -> bool:
        """Whether two parts of a record say the same, whatever the numbers."""
        if type(one) is not type(other):
            return bool(one == other)
        if isinstance(one, Fact):
            return self.same_fact(one, other)
        if isinstance(one, tuple | list):
            return len(one) == len(other) and all(map(self.alike, one, other))
        if isinstance(one, dict):
            return list(one) == list(other) and all(
                self.alike(one[name], other[name]) for name in one
            )
        if not isinstance(one, Op | ModuleCall | State):
            return bool(one == other)
        names = [each.name for each in fields(one)]
        if isinstance(one, Op):
            names.remove("view_of")
        return all(self.alike(getattr(one, n), getattr(other, n)) for n in names)

    def same_fact(self, one: Fact, other: Fact) -> bool:
        """The same metadata, of tensors that were the same all along."""
        return (
            self.tensors.setdefault(one.tensor, other.tensor) == other.tensor
            and self.storages.setdefault(one.storage, other.storage) == other.storage
            and replace(one, tensor=0, storage=0) == replace(other, tensor=0, storage=0)
        )

    def guard(self, guard: Guard) -> Guard:
        """The guard, of the other run's tensors."""
        left, right = (replace_reads(e, self.read) for e in (guard.left, guard.right))
        return replace(guard, left=left, right=right)

    def read(self, read: SizeRead) -> SizeRead:
        return replace(read, tensor=self.tensors.get(read.tensor, -read.tensor))
