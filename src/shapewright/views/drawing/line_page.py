"""The calls of a line of a program, drawn in order, in the names that the line uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent, wrap

from shapewright.findings.finding import Finding
from shapewright.index_maps.drawn_calls import Drawn, with_names
from shapewright.views.drawing.grids import BOXES, Strokes, add_ink
from shapewright.views.drawing.line_calls import LineCalls, LineStep, Variant
from shapewright.views.drawing.svg_canvas import Canvas
from shapewright.views.drawing.svg_page import paint_call
from shapewright.views.drawing.text_page import format_page


def name_tensors(
    step: LineStep, drawn: Drawn, order: Sequence[str], known: Collection[int]
) -> Drawn:
    """Return the drawing with the program's names for tensors.

    `order` are the drawing's names for the inputs of the op, `known` the places of
    those that have the values of the run. A tensor without a name, such as the result
    of another call, is described below the shapes.
    """
    names: dict[str, str] = {}
    for old, new in zip(order, step.names, strict=True):
        if new:
            names.setdefault(old, new)
    renamed_call = with_names(drawn, names)
    now = dict(zip((s.name for s in drawn.inputs), renamed_call.inputs, strict=True))
    notes = [
        f"`{now[old].name}` is `{new}`"
        for old, new in names.items()
        if old in now and now[old].name != new
    ]
    valued = {now[order[at]].name for at in known if order[at] in now}
    return replace(
        renamed_call,
        text=step.title if step.inside else step.code,
        notes=(*renamed_call.notes, *notes, *_describe_values(renamed_call, valued)),
    )


def _describe_values(drawn: Drawn, known: Collection[str]) -> list[str]:
    """Return a note on which values come from the run."""
    shown = [side.name for side in drawn.inputs if side.values is not None]
    if not drawn.maps or not shown:
        return []
    of_run = [f"`{name}`" for name in shown if name in known]
    if not of_run:
        return ["values are made up"]
    if len(of_run) == len(shown):
        return ["values are those of the run"]
    return [f"values of {', '.join(of_run)} are those of the run, others are made up"]


MOST_STEPS = 12
"""Calls of a line that are drawn; later ones get a line of text."""
MOST_VARIANTS = 4


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A call of the line, drawn on the shapes of one of its runs."""

    step: LineStep
    drawn: Drawn
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line of a program with its calls.

    `target` is the program that ran, `near` are the lines that make calls if this line
    makes none, `ended` is the error that ended the run before the line, or on it.
    """

    place: str
    file: str
    target: str
    calls: LineCalls
    steps: tuple[DrawnStep, ...]
    near: tuple[tuple[int, str], ...] = ()
    ended: Finding | None = None
    assumed: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """Return the error on the line, or the error before it was reached."""
        for step in self.steps:
            if step.drawn.error:
                return step.drawn.error
        if self.ended is None or (self.steps and not self.ended_here):
            return ""
        return self.ended.message

    @property
    def ended_here(self) -> bool:
        """Return whether the run ended on this line."""
        span = self.ended.span if self.ended else None
        first, last = self.calls.lines
        return (
            span is not None
            and span.file == self.file
            and span.line <= last
            and span.end_line >= first
        )


def format_line_text(
    line: DrawnLine, width: int = 80, strokes: Strokes = BOXES, inside: bool = False
) -> str:
    """Return the page for the terminal."""
    colour = strokes.colour
    code = _indent_code(line.calls.code).splitlines()
    where = [
        add_ink(line.place, "plain", colour),
        *(add_ink(c, "title", colour) for c in code),
    ]
    parts = ["\n".join(where), _wrap_sentences(_describe_head(line), width)]
    for number, step in enumerate(line.steps, 1):
        title = _format_heading(line, number, step)
        under = add_ink("-" * min(len(title), width), "edge", colour)
        parts.append(f"{add_ink(title, 'title', colour)}\n{under}")
        parts.append(_wrap_sentences(_describe_step(step), width))
        page = format_page(step.drawn, width, strokes, inside)
        parts.append("\n".join(page.splitlines()[2:]))
    parts.append(_wrap_sentences(_describe_tail(line), width))
    return "\n\n".join(part for part in parts if part) + "\n"


def draw_line_svg(line: DrawnLine, width: float = 760) -> str:
    """Return the page as one SVG, its calls one below the other."""
    canvas = Canvas(max(width, 240))
    canvas.lines([line.place], "soft mono", 12, after=2)
    code = _indent_code(line.calls.code).splitlines()
    canvas.lines(code, "text mono bold", 15, after=6)
    canvas.lines(_describe_head(line), "soft sans", 13, after=14)
    for number, step in enumerate(line.steps, 1):
        canvas.rule()
        canvas.lines(
            [_format_heading(line, number, step)], "name mono bold", 14, after=4
        )
        canvas.lines(_describe_step(step), "soft sans", 13, after=6)
        paint_call(canvas, step.drawn, titled=False)
        canvas.y += 6
    canvas.lines(_describe_tail(line), "soft sans", 13)
    return canvas.page(line.place, " ".join(_describe_head(line)))


def _indent_code(code: str) -> str:
    """Return the statement without its block's indent, but indented by two columns."""
    return "\n".join(f"  {line}".rstrip() for line in dedent(code).splitlines())


def _wrap_sentences(sentences: Sequence[str], width: int) -> str:
    """Return sentences on one line if they fit, else one line for each."""
    return "\n".join(
        part
        for sentence in sentences
        for part in wrap(sentence, width, subsequent_indent="  ")
    )


def _describe_head(line: DrawnLine) -> list[str]:
    """Return how often and where the line ran, and what is known about its run."""
    calls = line.calls
    if not calls.steps:
        return list(_iter_reasons(line))
    times = _format_count(max(calls.times, 1), "time")
    owners = [owner for owner in calls.owners if owner]
    where = f" in {_list_few(owners)}" if owners else ""
    sentences = [f"ran {times}{where}, in a run of {line.target}"]
    sentences += [f"assumed {assumption}" for assumption in line.assumed]
    return sentences


def _iter_reasons(line: DrawnLine) -> Iterator[str]:
    """Yield the reasons why nothing is drawn."""
    if line.ended is not None and not line.calls.inside:
        yield f"the run ended before: {line.ended.span or line.target}: " + (
            line.ended.message
        )
    elif line.calls.inside:
        places = [f"{file}:{number}" for file, number in line.calls.inside]
        few = _list_few(places, 8)
        yield f"makes no tensor call itself; it calls code that does: {few}"
        if line.ended is not None:
            yield f"the run ended at {line.ended.span}: {line.ended.message}"
    else:
        yield "makes no tensor call in this run"
    if line.near and not line.calls.inside:
        yield "the nearest lines that do:"
        for number, code in line.near:
            yield f"  {number}: {code}"


def _format_heading(line: DrawnLine, number: int, drawn_step: DrawnStep) -> str:
    """Return `2 of 3: F.relu(self.conv1(x))`."""
    return f"{number} of {len(line.calls.steps)}: {drawn_step.step.title}"


def _describe_step(drawn_step: DrawnStep) -> list[str]:
    """Return the operator, its layer, and the shapes of its inputs and outputs."""
    sentences = []
    step = drawn_step.step
    if step.class_name:
        own = step.shown
        sentences.append(
            f"layer `{step.module}` ({step.class_name}) calls"
            f" {own.name if own.name[0].isalpha() else f'`{own.name}`'}"
        )
    if len(drawn_step.variants) > 1:
        for kind in drawn_step.variants[:MOST_VARIANTS]:
            modules = [name for name in kind.modules if name]
            where = f" in {_list_few(modules)}" if modules else ""
            sentences.append(f"{_format_count(kind.times, 'time')} {kind.text}{where}")
        if rest := len(drawn_step.variants) - MOST_VARIANTS:
            sentences += [f"and on {rest} other sets of shapes"] if rest > 0 else []
        sentences.append(f"drawn: the {'last' if step.failed else 'first'}")
    elif len(step.ops) > 1:
        sentences.append(
            f"{_format_count(len(step.ops), 'time')}, each on these shapes"
        )
    return sentences


def _describe_tail(line: DrawnLine) -> list[str]:
    """Return what else the line did and how the run ended."""
    sentences = []
    for step in line.calls.steps[len(line.steps) :]:
        sentences.append(
            f"not drawn, the {len(line.steps) + 1}th and later: {step.code}"
        )
        break
    if line.calls.steps and line.calls.inside:
        places = [f"{file}:{number}" for file, number in line.calls.inside]
        sentences.append(
            f"it also calls code that makes tensor calls: {_list_few(places, 8)}"
        )
    if line.calls.steps and line.ended is not None and not line.steps[-1].drawn.error:
        sentences.append(f"the run ended at {line.ended.span}: {line.ended.message}")
    return sentences


def _format_count(count: int, what: str) -> str:
    """Return `once` or `3 times`."""
    return "once" if count == 1 else f"{count:,} {what}s"


def _list_few(names: Sequence[str], most: int = 4) -> str:
    """Return the first names of a list and the number of the others."""
    shown = ", ".join(names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown
