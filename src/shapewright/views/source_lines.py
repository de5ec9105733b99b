"""The user's source with the tensors that each line made, visit by visit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_last_line
from shapewright.record.ops import ModuleCall, Op, Source
from shapewright.record.trace import Trace
from shapewright.views import formatting


@dataclass(frozen=True, slots=True)
class _Event:
    """A value that an expression produced: the outputs of an op or of a module call."""

    span: Span
    name: str
    value: Any
    owner: int
    outer: tuple[Span, ...]


CALL = "()"
"""The name of the event of a module call, whichever module it is."""

Loops = Mapping[str, frozenset[int]]
"""The lines of each file that stand in a loop or comprehension."""


def collect_visits(
    trace: Trace, loops: Loops
) -> dict[tuple[str, int], list[list[_Event]]]:
    """Return the visits of each (file, line) in the order of the run.

    A visit is one evaluation of the line: the same place of the same module call,
    reached by the same chain of calls. If the line or a caller of it stands in a loop,
    an expression that comes again begins a new visit.
    """
    visits: dict[tuple[str, int], list[list[_Event]]] = {}
    last: dict[tuple[str, int], tuple[Any, set[tuple[Span, str]]]] = {}
    for event in _iter_events(trace):
        place = (event.span.file, event.span.end_line)
        key, mark = (event.owner, event.outer), (event.span, event.name)
        seen_key, seen = last.get(place, (None, set()))
        again = mark in seen and _is_loop(event, loops)
        if seen_key != key or again:
            seen = set()
            last[place] = (key, seen)
            visits.setdefault(place, []).append([])
        seen.add(mark)
        visits[place][-1].append(event)
    return visits


def _is_loop(event: _Event, loops: Loops) -> bool:
    return any(
        span.line in loops.get(span.file, frozenset())
        for span in (event.span, *event.outer)
    )


def _iter_events(trace: Trace) -> Iterator[_Event]:
    """Yield the values in the order in which they were produced.

    A call of a module whose code is not the user's (``self.fc1(x)``, a Sequential)
    represents everything that ran inside it, which has the same span.
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

    def of_op(self, op: Op) -> Iterator[_Event]:
        owner = self.by_name.get((op.module, op.call))
        hidden = owner is not None and owner.parent is not None
        if op.span is None or not op.outputs:
            return
        if owner is not None and hidden and owner.span == op.span:
            return
        outer = tuple(frame.span for frame in op.frames[:-1])
        yield _Event(op.span, op.name, op.outputs, owner.index if owner else -1, outer)

    def of_call(self, at: int) -> Iterator[_Event]:
        call = self.calls[at]
        if call.span is None or call.parent is None:
            return
        if self.calls[call.parent].span == call.span:
            return
        yield _Event(call.span, CALL, call.output, call.parent, self._outer(call))

    def _outer(self, call: ModuleCall) -> tuple[Span, ...]:
        """Return the call sites that led to the call, as its first op recorded them."""
        begin, end = call.ops
        way = [frame.span for frame in self.ops[begin].frames] if begin < end else []
        if call.span in way:
            return tuple(way[: way.index(call.span)])
        return ()


CONTEXT = 2
"""Lines without a tensor that are kept between two lines with one."""

Seen = Mapping[int, Sequence[Sequence[_Event]]]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of source with its tensors, how often it ran, and its error."""

    number: int
    code: str
    fact: str = ""
    times: int = 0
    wrong: str = ""

    @property
    def often(self) -> str:
        """Return ``x 12``, or an empty string for a line that ran once."""
        return f"x {self.times}" if self.times > 1 else ""


@dataclass(slots=True)
class _Part:
    """A function of the user, or the top level of a file, with its lines that ran."""

    source: Source
    first: int
    last: int
    name: str
    facts: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    owners: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class FunctionRows:
    """A function that ran: its name and its rows, with None for lines left out.

    `place` is ``model.py:19``, or the file alone for its top level.
    """

    place: str
    name: str
    rows: list[Row | None]


def iter_files(trace: Trace, arrow: str) -> Iterator[list[FunctionRows]]:
    """Yield the functions that ran, for each file that produced a tensor."""
    loops = {
        file: SourceText(file, source.text).looping_lines
        for file, source in trace.sources.items()
        if source.text is not None
    }
    visits = collect_visits(trace, loops)
    wrong = [
        finding.span.file for finding in trace.findings if finding.span is not None
    ]
    for file in dict.fromkeys([*(file for file, _ in visits), *wrong]):
        seen = {
            line: visited for (name, line), visited in visits.items() if name == file
        }
        source = trace.sources.get(file)
        if source is None or source.text is None:
            yield [FunctionRows(file, "", _build_bare_rows(seen, arrow))]
            continue
        parts = _fill_parts(trace, source, seen, arrow)
        yield [_find_block(trace, part) for part in parts]


def _summarise_line(seen: Sequence[Sequence[_Event]], arrow: str) -> str:
    """Return the values of a line, the innermost first: ``(8, 64) → (8, 32) f32``.

    If the visits differ, return the first and the last: ``(8, 1) .. (8, 9)``.
    """
    texts = [_visit(events, arrow) for events in seen]
    if len(set(texts)) == 1:
        return texts[0]
    return f"{texts[0]} .. {texts[-1]}"


def _visit(events: Sequence[_Event], arrow: str) -> str:
    """Return each outermost expression with the values that led to it."""
    outer: list[str] = []
    start = 0
    for at, event in enumerate(events):
        if not any(_is_inside(event.span, later.span) for later in events[at + 1 :]):
            outer.append(_chain_events(events[start : at + 1], arrow))
            start = at + 1
    return ", ".join(formatting.fold_parts([text for text in outer if text]))


def _chain_events(events: Sequence[_Event], arrow: str) -> str:
    steps: list[tuple[str, Span]] = []
    for event in events:
        text = _format_value(event)
        if steps and steps[-1][0] == text:
            steps[-1] = (text, event.span)
        elif text:
            steps.append((text, event.span))
    chain = ""
    for at, (text, span) in enumerate(steps):
        after = steps[at + 1] if at + 1 < len(steps) else None
        if after is None:
            return chain + text
        stem, _, dtype = text.rpartition(" ")
        chain += stem if stem and after[0].endswith(f" {dtype}") else text
        chain += f" {arrow} " if _is_inside(span, after[1]) else ", "
    return chain


def _is_inside(inner: Span, outer: Span) -> bool:
    begins = (outer.line, outer.column) <= (inner.line, inner.column)
    ends = (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    return begins and ends


def _format_value(event: _Event) -> str:
    if event.name != CALL:
        return formatting.format_results(event.value)
    return "" if event.value is None else formatting.format_nest(event.value)


def _find_block(trace: Trace, part: _Part) -> FunctionRows:
    file = part.source.file
    place = f"{file}:{part.first}" if part.name else file
    return FunctionRows(place, part.name, list(_build_rows(trace, part)))


def _build_bare_rows(seen: Seen, arrow: str) -> list[Row | None]:
    """Return the rows of a file whose text was not recorded: calls and facts."""
    rows: list[Row | None] = []
    for line in sorted(seen):
        names = dict.fromkeys(e.name for visit in seen[line] for e in visit)
        what = ", ".join(name for name in names if name != CALL) or "a module"
        rows.append(
            Row(line, what, _summarise_line(seen[line], arrow), len(seen[line]))
        )
    return rows


def _fill_parts(trace: Trace, source: Source, seen: Seen, arrow: str) -> list[_Part]:
    """Return the parts of a file that ran, each with the facts of its lines."""
    wrong = {
        finding.span.line: f"{finding.severity}[{finding.code}]"
        for finding in trace.findings
        if finding.span is not None
        and finding.span.file == source.file
        and finding.severity != "note"  # the line has run; its shapes tell more
    }
    lines = sorted({*seen, *wrong})
    parts = _find_parts(source, lines)
    for line in lines:
        part = _find_innermost(parts, line)
        visits_of_line = seen.get(line, ())
        fact = _summarise_line(visits_of_line, arrow) if visits_of_line else ""
        part.facts[line] = (fact, len(visits_of_line), wrong.get(line, ""))
        part.owners.update(e.owner for visit in visits_of_line for e in visit)
    return parts


def _build_rows(trace: Trace, part: _Part) -> Iterator[Row | None]:
    text = (part.source.text or "").expandtabs(4).splitlines()
    shown = _choose_kept(part, len(text))
    chosen = [text[line - 1] for line in shown]
    indent = min(
        (len(code) - len(code.lstrip()) for code in chosen if code.strip()), default=0
    )
    before = None
    for line in shown:
        if before is not None and line > before + 1:
            yield None
        fact, times, wrong = part.facts.get(line, ("", 0, ""))
        if line == part.first and part.name and not fact:
            fact, times = _format_inputs(trace, part)
        yield Row(line, text[line - 1][indent:].rstrip(), fact, times, wrong)
        before = line


def _choose_kept(part: _Part, end: int) -> list[int]:
    """Return the def line, the lines with facts, and short stretches between them."""
    marks = sorted({part.first, *part.facts} if part.name else part.facts)
    kept: list[int] = []
    for line in marks:
        if kept and line - kept[-1] - 1 <= CONTEXT:
            kept += range(kept[-1] + 1, line)
        kept.append(line)
    return [line for line in kept if line <= end]


def _format_inputs(trace: Trace, part: _Part) -> tuple[str, int]:
    """Return the function's inputs and their number, for a module's method."""
    texts = [
        formatting.format_arguments(call)
        for call in (trace.calls[at] for at in sorted(part.owners) if at >= 0)
        if part.name == f"{call.class_name}.{call.method}"
    ]
    if len(set(texts)) > 1:
        return f"{texts[0]} .. {texts[-1]}", len(texts)
    return (texts[0], len(texts)) if texts else ("", 0)


def _find_parts(source: Source, lines: list[int]) -> list[_Part]:
    """Return the innermost functions that contain the lines, in file order."""
    functions = [
        (node.lineno, get_last_line(node), name)
        for name, node in SourceText(source.file, source.text or "").functions()
    ]
    whole = _Part(source, 1, 10**9, "")
    parts: dict[tuple[int, int], _Part] = {}
    for line in lines:
        holding = [
            function for function in functions if function[0] <= line <= function[1]
        ]
        if not holding:
            parts.setdefault((0, 0), whole)
            continue
        first, last, name = max(holding)
        part = _Part(source, first, last, name)
        parts.setdefault((first, last), part)
    return [parts[key] for key in sorted(parts)]


def _find_innermost(parts: list[_Part], line: int) -> _Part:
    return max(
        (part for part in parts if part.first <= line <= part.last),
        key=lambda part: part.first if part.name else 0,
    )
