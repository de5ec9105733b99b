"""The user's source with what each line made: the rows of ``--by line``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shapewright.source.span import Span
from shapewright.trace.record import Source, Trace
from shapewright.views import shapes
from shapewright.views.visits import CALL, Event, looping_lines, visits

CONTEXT = 2
"""Lines without a tensor that are kept between two lines with one."""

Seen = Mapping[int, Sequence[Sequence[Event]]]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of source with what it made, how often it ran, and what is wrong."""

    number: int
    code: str
    fact: str = ""
    times: int = 0
    wrong: str = ""

    @property
    def often(self) -> str:
        """``x 12``, nothing for a line that ran once."""
        return f"x {self.times}" if self.times > 1 else ""


@dataclass(slots=True)
class Part:
    """A function of the user's, or the top level of a file, with its lines that ran."""

    source: Source
    first: int
    last: int
    name: str
    facts: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    owners: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Block:
    """One function that ran: its name, and its rows; None stands for lines left out.

    `place` is ``model.py:19``, or the file alone for its top level.
    """

    place: str
    name: str
    rows: list[Row | None]


def files(trace: Trace, arrow: str) -> Iterator[list[Block]]:
    """For each file of the program that made a tensor, its functions that ran."""
    loops = {
        file: looping_lines(source.text)
        for file, source in trace.sources.items()
        if source.text is not None
    }
    made = visits(trace, loops)
    wrong = [each.span.file for each in trace.findings if each.span is not None]
    for file in dict.fromkeys([*(file for file, _ in made), *wrong]):
        seen = {line: visited for (name, line), visited in made.items() if name == file}
        source = trace.sources.get(file)
        if source is None or source.text is None:
            yield [Block(file, "", _bare(seen, arrow))]
            continue
        parts = _filled(trace, source, seen, arrow)
        yield [_block(trace, part) for part in parts]


def summary(seen: Sequence[Sequence[Event]], arrow: str) -> str:
    """What a line made: ``(8, 64) → (8, 32) f32``, innermost expression first.

    Where the visits differ: what the first and the last made, ``(8, 1) .. (8, 9)``.
    """
    texts = [_visit(events, arrow) for events in seen]
    if len(set(texts)) == 1:
        return texts[0]
    return f"{texts[0]} .. {texts[-1]}"


def _visit(events: Sequence[Event], arrow: str) -> str:
    """Each outermost expression with the values on the way to it."""
    outer: list[str] = []
    start = 0
    for at, event in enumerate(events):
        if not any(_inside(event.span, later.span) for later in events[at + 1 :]):
            outer.append(_chain(events[start : at + 1], arrow))
            start = at + 1
    return ", ".join(shapes.folded([text for text in outer if text]))


def _chain(events: Sequence[Event], arrow: str) -> str:
    steps: list[tuple[str, Span]] = []
    for event in events:
        text = _value(event)
        if steps and steps[-1][0] == text:
            steps[-1] = (text, event.span)
        elif text:
            steps.append((text, event.span))
    made = ""
    for at, (text, span) in enumerate(steps):
        after = steps[at + 1] if at + 1 < len(steps) else None
        if after is None:
            return made + text
        stem, _, dtype = text.rpartition(" ")
        made += stem if stem and after[0].endswith(f" {dtype}") else text
        made += f" {arrow} " if _inside(span, after[1]) else ", "
    return made


def _inside(inner: Span, outer: Span) -> bool:
    begins = (outer.line, outer.column) <= (inner.line, inner.column)
    ends = (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    return begins and ends


def _value(event: Event) -> str:
    if event.name != CALL:
        return shapes.results(event.value)
    return "" if event.value is None else shapes.nest(event.value)


def _block(trace: Trace, part: Part) -> Block:
    file = part.source.file
    place = f"{file}:{part.first}" if part.name else file
    return Block(place, part.name, list(_rows(trace, part)))


def _bare(seen: Seen, arrow: str) -> list[Row | None]:
    """Lines of a file whose text was not recorded: what ran there, and the facts."""
    made: list[Row | None] = []
    for line in sorted(seen):
        names = dict.fromkeys(e.name for visit in seen[line] for e in visit)
        what = ", ".join(name for name in names if name != CALL) or "a module"
        made.append(Row(line, what, summary(seen[line], arrow), len(seen[line])))
    return made


def _filled(trace: Trace, source: Source, seen: Seen, arrow: str) -> list[Part]:
    """The parts of a file that ran, each with the facts of its lines."""
    wrong = {
        finding.span.line: f"{finding.severity}[{finding.code}]"
        for finding in trace.findings
        if finding.span is not None
        and finding.span.file == source.file
        and finding.severity != "note"  # the line has run; its shapes tell more
    }
    lines = sorted({*seen, *wrong})
    parts = _parts(source, lines)
    for line in lines:
        part = _innermost(parts, line)
        visits_of_line = seen.get(line, ())
        fact = summary(visits_of_line, arrow) if visits_of_line else ""
        part.facts[line] = (fact, len(visits_of_line), wrong.get(line, ""))
        part.owners.update(e.owner for visit in visits_of_line for e in visit)
    return parts


def _rows(trace: Trace, part: Part) -> Iterator[Row | None]:
    text = (part.source.text or "").expandtabs(4).splitlines()
    shown = _kept(part, len(text))
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
            fact, times = _inputs(trace, part)
        yield Row(line, text[line - 1][indent:].rstrip(), fact, times, wrong)
        before = line


def _kept(part: Part, end: int) -> list[int]:
    """The def line, the lines with facts, and short stretches between them."""
    marks = sorted({part.first, *part.facts} if part.name else part.facts)
    kept: list[int] = []
    for line in marks:
        if kept and line - kept[-1] - 1 <= CONTEXT:
            kept += range(kept[-1] + 1, line)
        kept.append(line)
    return [line for line in kept if line <= end]


def _inputs(trace: Trace, part: Part) -> tuple[str, int]:
    """What the function got and how often, where it is the method of a module."""
    texts = [
        shapes.arguments(call)
        for call in (trace.calls[at] for at in sorted(part.owners) if at >= 0)
        if part.name == f"{call.class_name}.{call.method}"
    ]
    if len(set(texts)) > 1:
        return f"{texts[0]} .. {texts[-1]}", len(texts)
    return (texts[0], len(texts)) if texts else ("", 0)


def _parts(source: Source, lines: list[int]) -> list[Part]:
    """The innermost functions that hold the lines, in the order of the file."""
    functions = list(_functions(_parsed(source.text or ""), ""))
    whole = Part(source, 1, 10**9, "")
    parts: dict[tuple[int, int], Part] = {}
    for line in lines:
        holding = [each for each in functions if each[0] <= line <= each[1]]
        if not holding:
            parts.setdefault((0, 0), whole)
            continue
        first, last, name = max(holding)
        part = Part(source, first, last, name)
        parts.setdefault((first, last), part)
    return [parts[key] for key in sorted(parts)]


def _innermost(parts: list[Part], line: int) -> Part:
    return max(
        (part for part in parts if part.first <= line <= part.last),
        key=lambda part: part.first if part.name else 0,
    )


def _parsed(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _functions(node: Any, prefix: str) -> Iterator[tuple[int, int, str]]:
    """(def line, end line, qualified name) of every function below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{child.name}"
            yield child.lineno, child.end_lineno or child.lineno, name
            yield from _functions(child, f"{name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)
