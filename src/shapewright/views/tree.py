"""The tree of module calls, with repeated siblings folded into one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapewright.trace.module import ModuleCall
from shapewright.trace.record import Trace
from shapewright.trace.totals import Totals
from shapewright.views import shapes

FOLD_CALLS = 3
"""A module called twice is shown twice; from three equal calls on it is folded."""


@dataclass(frozen=True, slots=True)
class Row:
    """A module call, or `count` equal ones in a row of which `first` stands for all.

    `lasts` says for each level from the root down whether the branch ends there.
    """

    first: ModuleCall
    last: ModuleCall
    count: int
    label: str
    lasts: tuple[bool, ...]


def rows(trace: Trace, totals: Totals) -> list[Row]:
    """The rows of the module table, in the order of the run.

    Example: GPT-2's twelve equal blocks are one row labelled ``h.0 - 11``, with the
    children of ``h.0`` below it.
    """
    tree = _Tree(trace, totals)
    roots = [at for at, call in enumerate(trace.calls) if call.parent is None]
    return list(tree.walk(roots, "", (), root=True))


class _Tree:
    def __init__(self, trace: Trace, totals: Totals) -> None:
        self.calls: Sequence[ModuleCall] = tuple(trace.calls)
        self.totals = totals
        self.children: list[list[int]] = [[] for _ in self.calls]
        self.kinds: dict[object, int] = {}
        for at, call in enumerate(self.calls):
            if call.parent is not None:
                self.children[call.parent].append(at)
        self.kind = self._kinds()

    def _kinds(self) -> list[int]:
        """A number for each call; equal numbers print equal, children included."""
        kind = [0] * len(self.calls)
        for at in reversed(range(len(self.calls))):
            call, subtotal = self.calls[at], self.totals.calls[at]
            below = tuple(
                (self._local(self.calls[child], call.path), kind[child])
                for child in self.children[at]
            )
            looks = (call.class_name, shapes.arguments(call), shapes.nest(call.output))
            key = (looks, call.method, call.notes, subtotal, below)
            kind[at] = self.kinds.setdefault(key, len(self.kinds))
        return kind

    def walk(
        self, siblings: list[int], path: str, lasts: tuple[bool, ...], root: bool
    ) -> Iterator[Row]:
        groups = list(self._groups(siblings))
        for place, group in enumerate(groups):
            below = () if root else (*lasts, place == len(groups) - 1)
            first, last = self.calls[group[0]], self.calls[group[-1]]
            label = _label(self._local(first, path), first, last)
            yield Row(first, last, len(group), label, below)
            yield from self.walk(self.children[group[0]], first.path, below, False)

    def _groups(self, siblings: list[int]) -> Iterator[list[int]]:
        at = 0
        while at < len(siblings):
            end = at + 1
            while end < len(siblings) and self._alike(siblings[end - 1], siblings[end]):
                end += 1
            group = siblings[at:end]
            first, last = self.calls[group[0]], self.calls[group[-1]]
            if first.path == last.path and len(group) < FOLD_CALLS:
                yield from ([one] for one in group)
            else:
                yield group
            at = end

    def _alike(self, one: int, other: int) -> bool:
        if self.kind[one] != self.kind[other]:
            return False
        before, after = self.calls[one], self.calls[other]
        if before.path == after.path:
            return after.call == before.call + 1
        return before.call == after.call and _successor(before.path) == after.path

    @staticmethod
    def _local(call: ModuleCall, path: str) -> str:
        inside = path and call.path.startswith(f"{path}.")
        return call.path[len(path) + 1 :] if inside else call.path


def _successor(path: str) -> str | None:
    """``h.4`` for ``h.3``, None where the path does not end in a number."""
    stem, _, number = path.rpartition(".")
    if not number.isdecimal():
        return None
    after = str(int(number) + 1)
    return f"{stem}.{after}" if stem else after


def _label(local: str, first: ModuleCall, last: ModuleCall) -> str:
    name = local or first.class_name
    if first.method not in ("forward", "call"):
        name = f"{name}.{first.method}()"
    if last.path != first.path:
        name = f"{name} - {last.path.rpartition('.')[2]}"
        return name if first.call == 1 else f"{name} (call {first.call})"
    if last.call != first.call:
        return f"{name} (calls {first.call} - {last.call})"
    return name if first.call == 1 else f"{name} (call {first.call})"
