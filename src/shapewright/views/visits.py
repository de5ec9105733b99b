"""What each line of the program made, visit by visit."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shapewright.source.span import Span
from shapewright.trace.module import ModuleCall
from shapewright.trace.op import Op
from shapewright.trace.record import Trace


@dataclass(frozen=True, slots=True)
class Event:
    """One value that an expression made: an op's outputs, or a module call's."""

    span: Span
    name: str
    value: Any
    owner: int
    outer: tuple[Span, ...]


CALL = "()"
"""The name of the event of a module call, whichever module it is."""

Loops = Mapping[str, frozenset[int]]
"""For each file the lines that stand in a loop or comprehension."""


def visits(trace: Trace, loops: Loops) -> dict[tuple[str, int], list[list[Event]]]:
    """For each (file, line) the visits in the order of the run.

    A visit is one evaluation of the line: the same place of the same module call,
    reached by the same chain of calls. Where the line or a caller of it stands in a
    loop, an expression that comes again begins a new visit.
    """
    made: dict[tuple[str, int], list[list[Event]]] = {}
    last: dict[tuple[str, int], tuple[Any, set[tuple[Span, str]]]] = {}
    for event in events(trace):
        place = (event.span.file, event.span.end_line)
        key, mark = (event.owner, event.outer), (event.span, event.name)
        seen_key, seen = last.get(place, (None, set()))
        again = mark in seen and _loops(event, loops)
        if seen_key != key or again:
            seen = set()
            last[place] = (key, seen)
            made.setdefault(place, []).append([])
        seen.add(mark)
        made[place][-1].append(event)
    return made


def _loops(event: Event, loops: Loops) -> bool:
    return any(
        span.line in loops.get(span.file, frozenset())
        for span in (event.span, *event.outer)
    )


def events(trace: Trace) -> Iterator[Event]:
    """Values in the order in which they were made.

    A call of a module whose code is not the user's (``self.fc1(x)``, a Sequential)
    stands for all that ran inside it, which has the same span.
    """
    run = _Run(trace)
    ends = sorted(range(len(run.calls)), key=lambda at: (run.calls[at].ops[1], -at))
    at = 0
    for position, op in enumerate(run.ops):
        while at < len(ends) and run.calls[ends[at]].ops[1] <= position:
            yield from run.of_call(ends[at])
            at += 1
        yield from run.of_op(op)
    for place in ends[at:]:
        yield from run.of_call(place)


class _Run:
    def __init__(self, trace: Trace) -> None:
        self.ops = tuple(trace.ops)
        self.calls = tuple(trace.calls)
        self.by_name = {(call.path, call.call): call for call in self.calls}

    def of_op(self, op: Op) -> Iterator[Event]:
        owner = self.by_name.get((op.module, op.call))
        hidden = owner is not None and owner.parent is not None
        if op.span is None or not op.outputs:
            return
        if owner is not None and hidden and owner.span == op.span:
            return
        outer = tuple(frame.span for frame in op.frames[:-1])
        yield Event(op.span, op.name, op.outputs, owner.index if owner else -1, outer)

    def of_call(self, at: int) -> Iterator[Event]:
        call = self.calls[at]
        if call.span is None or call.parent is None:
            return
        if self.calls[call.parent].span == call.span:
            return
        yield Event(call.span, CALL, call.output, call.parent, self._outer(call))

    def _outer(self, call: ModuleCall) -> tuple[Span, ...]:
        """The places on the way to the call, as the first op inside it saw them."""
        begin, end = call.ops
        way = [frame.span for frame in self.ops[begin].frames] if begin < end else []
        if call.span in way:
            return tuple(way[: way.index(call.span)])
        return ()


def looping_lines(text: str) -> frozenset[int]:
    """The lines of a program that may run more than once in one call of its function.

    Example: in ``for x in xs:`` the body's lines are, the header's line is too.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(range(1, text.count("\n") + 2))
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _LOOPS):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


_LOOPS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Lambda,
)
