"""The context for the checks of a training run: its recorded facts and the program's
text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import CODES
from shapewright.findings.finding import Finding, Related, Severity
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import LOOPS, find_uncalled, get_called_name
from shapewright.record.report import (
    Moment,
    Observation,
    Place,
    Rehearsal,
    Training,
)


@dataclass(frozen=True, slots=True)
class StoryLoop:
    """A recorded loop: its node in the text, and the loops around it."""

    moment: Moment
    text: SourceText
    node: ast.For
    outer: tuple[Moment, ...]


class RehearsalContext:
    """A rehearsal, and the places of its events in the text."""

    def __init__(self, program: Program, rehearsal: Rehearsal) -> None:
        self.program = program
        self.rehearsal = rehearsal
        self.training: Training = rehearsal.training

    def span(self, place: Place | None, *names: str) -> Span | None:
        """Return the span of a call of one of these functions on a line, else of the
        line's statement.
        """
        text = self.program.text(place[0]) if place is not None else None
        if place is None or text is None:
            return None
        nodes = text.near(place[1])
        for node in nodes:
            if get_called_name(node) in names:
                return text.span(node)
        for node in nodes:
            if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return):
                return text.span(node)
        if not 0 < place[1] <= len(text.lines):
            return None
        line = text.lines[place[1] - 1]
        start = len(line) - len(line.lstrip())
        return Span(place[0], place[1], start + 1, place[1], len(line.rstrip()) + 1)

    def observations(self, kind: str) -> Iterator[Observation]:
        """Yield the observations of a kind."""
        return (seen for seen in self.training.met if seen.kind == kind)

    def built(self, path: str) -> Span | None:
        """Return the span where the module that holds a parameter was constructed, or
        None.
        """
        construction = self.program.built.get(path.rpartition(".")[0])
        return construction.span if construction is not None else None

    def find_uncalled(self, method: str) -> tuple[Span | None, str] | None:
        """Return where a statement names a method and does not call it, and words."""
        for text in self.program.own_texts():
            named = find_uncalled(text.tree, method)
            if named is not None:
                words = f"`{text.written(named)}` without parentheses calls nothing"
                return text.span(named), words
        return None

    def loops(self) -> Iterator[StoryLoop]:
        """Yield the `for` loops over loaders, each with its text."""
        yield from self._loops(self.rehearsal.story, ())

    def _loops(self, moment: Moment, outer: tuple[Moment, ...]) -> Iterator[StoryLoop]:
        own = any(
            event.kind == "batches" and event.line == moment.line
            for event in moment.inner
        )
        text = self.program.text(moment.file) if moment.kind == "loop" and own else None
        for node in text.for_loops(moment.line) if text is not None else ():
            assert text is not None
            yield StoryLoop(moment, text, node, outer)
        within = (*outer, moment) if moment.kind == "loop" else outer
        for event in moment.inner:
            yield from self._loops(event, within)


def build_finding(
    code: str,
    message: str,
    span: Span | None,
    *related: tuple[Span | None, str],
    severity: Severity | None = None,
    module: str = "",
) -> Finding:
    """Return a finding at a place, with the places that explain it."""
    places = tuple(
        Related(place, words)
        for place, words in related
        if place is not None and place != span
    )
    severity = severity or CODES[code].severity
    return Finding(code, severity, message, span, module, related=places)


def is_before_optimizers(scene: RehearsalContext, place: Place | None) -> bool:
    """Return whether a line stands outside all loops and functions, and above those
    that build an optimizer.
    """
    text = scene.program.text(place[0]) if place is not None else None
    nodes = text.near(place[1]) if text is not None and place is not None else ()
    if text is None or place is None or not nodes:
        return False
    inside = text.around(nodes[0], *LOOPS, ast.FunctionDef)
    built = [optimizer.built for optimizer in scene.training.optimizers]
    return inside is None and all(
        other[0] == place[0] and place[1] < other[1] for other in built
    )
