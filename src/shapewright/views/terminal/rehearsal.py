"""The report of `rehearse`: the story of the run and its gradients as text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shapewright.record.report import Gradient, Moment
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import (
    ASCII,
    UNICODE,
    Line,
    Terminal,
    count_cells,
    cut_left,
    cut_text,
    pad,
    render_lines,
)
from shapewright.views.terminal import findings as reports
from shapewright.views.terminal.memory import format_rehearsed_memory
from shapewright.views.terminal.totals import label_text, wrap_text

if TYPE_CHECKING:
    from shapewright.record.ops import Assumption
    from shapewright.record.report import Report


MOST_RUNS = 4
"""Ranges of numbers that are listed of a loop's turns, at most."""

MOST_SHAPES = 4
"""Shapes of the batches of a loader that are listed one by one, at most."""

MOST_NAMES = 4
"""Files that are listed of a line that saves or loads, at most."""

SIZE = re.compile(r"(?<![A-Za-z\d])\d+")
"""A size in a shape, and no part of a dtype."""

SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the program and its results, on one or several lines."""

    file: str
    line: int
    depth: int
    code: str
    what: tuple[str, ...]
    kind: str


def _build_rows(story: Moment, trace: Trace | None) -> list[_Row]:
    """Return all rows, in the order in which they first happened."""
    texts = {
        name: source.text.splitlines()
        for name, source in (trace.sources if trace is not None else {}).items()
        if source.text is not None
    }
    whole = Moment("loop", inner=story.inner)
    return [
        replace(row, depth=row.depth - 1) for row in _make_story_rows(whole, 0, texts)
    ][1:]


def _make_story_rows(
    moment: Moment, depth: int, texts: Mapping[str, list[str]]
) -> Iterator[_Row]:
    if moment.kind == "loop" and not any(map(_is_shown, moment.inner)):
        return
    inner = list(moment.inner)
    kind, what = moment.kind, _describe_results([moment])
    if kind == "loop":
        own = [m for m in inner if m.kind == "batches" and m.line == moment.line]
        if own:
            inner = [event for event in inner if event not in own]
            kind = "batches"
            what = tuple(line for batch in own for line in _describe_results([batch]))
    yield _Row(moment.file, moment.line, depth, _get_code(moment, texts), what, kind)
    for group in _group_moments(inner):
        if len(group) == 1:
            yield from _make_story_rows(group[0], depth + 1, texts)
        else:
            first, code = group[0], _get_code(group[0], texts)
            yield _Row(
                first.file,
                first.line,
                depth + 1,
                code,
                _describe_results(group),
                first.kind,
            )


def _group_moments(moments: Iterable[Moment]) -> list[list[Moment]]:
    """Return moments in groups; the files that a line saves or loads form a group."""
    groups: dict[object, list[Moment]] = {}
    for moment in moments:
        files = moment.kind in ("save", "load")
        key = (moment.kind, moment.file, moment.line) if files else id(moment)
        groups.setdefault(key, []).append(moment)
    return list(groups.values())


def _is_shown(moment: Moment) -> bool:
    """Return whether a moment is shown; a loop in which nothing happened is not."""
    return moment.kind != "loop" or any(map(_is_shown, moment.inner))


def _get_code(moment: Moment, texts: Mapping[str, list[str]]) -> str:
    lines = texts.get(moment.file, [])
    if 0 < moment.line <= len(lines):
        return lines[moment.line - 1].strip()
    return moment.text


def _describe_results(moments: Sequence[Moment]) -> tuple[str, ...]:
    """Return the results of moments in words; several are the files of one line."""
    moment = moments[0]
    kind, text = moment.kind, moment.text
    if kind == "loop":
        return (_format_turns(moment, text or "turn"),)
    if kind == "batches":
        return (
            _format_turns(moment, "batch"),
            text,
            *_fold_shapes([*map(_shorten_dtypes, moment.shapes)]),
        )
    if kind == "backward":
        loss = f"loss {' | '.join(map(_shorten_dtypes, moment.shapes))}"
        return (f"{loss}, {text}" if text else loss,)
    if kind in ("save", "load"):
        names = [event.text or "a buffer" for event in moments]
        more = len(names) - MOST_NAMES
        names_text = ", ".join(names[:MOST_NAMES]) + (
            f" and {more} more" if more > 0 else ""
        )
        return (
            f"{names_text}, kept for this run only" if kind == "save" else names_text,
        )
    if kind in ("train", "eval"):
        return (f"{text} in {'training' if kind == 'train' else 'evaluation'}",)
    if kind == "schedule" and moment.total is not None:
        return (f"{text}, {moment.total:,} steps at most",)
    return (text,)


def _fold_shapes(shapes: list[str]) -> list[str]:
    """Return shapes line by line; many that differ in sizes alone as ranges:
    `(255-305,) i64`.
    """
    if len(shapes) <= MOST_SHAPES:
        return shapes
    folded: list[str] = []
    for texts in _group_by_form(shapes).values():
        sizes = zip(*(map(int, SIZE.findall(text)) for text in texts), strict=True)
        ranges = [
            f"{low}" if low == high else f"{low}-{high}"
            for low, high in ((min(column), max(column)) for column in sizes)
        ]
        words = zip(SIZE.split(texts[0]), [*ranges, ""], strict=True)
        line = "".join(itertools.chain.from_iterable(words))
        folded.append(f"{line}, {len(texts)} shapes" if len(texts) > 1 else line)
    more = len(folded) - MOST_SHAPES
    return folded if more <= 0 else [*folded[:MOST_SHAPES], f"and {more} more"]


def _group_by_form(shapes: list[str]) -> dict[str, list[str]]:
    """Return shapes in groups that differ in nothing but their sizes."""
    groups: dict[str, list[str]] = {}
    for text in shapes:
        groups.setdefault(SIZE.sub("#", text), []).append(text)
    return groups


def _format_turns(moment: Moment, name: str) -> str:
    """Return the iterations of a moment: `turns 1-2, 90 of 90`."""
    names = f"{name}es" if name == "batch" else f"{name}s"
    runs: list[list[int]] = []
    for turn in moment.turns:
        if runs and turn == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], turn]
        else:
            runs.append([turn])
    if len(runs) > MOST_RUNS:
        runs = [*runs[: MOST_RUNS - 1], [0], runs[-1]]
    turns = (
        ", ".join(
            "..." if run == [0] else "-".join(f"{turn:,}" for turn in run)
            for run in runs
        )
        or "none"
    )
    of = f" of {moment.total:,}" if moment.total is not None else ""
    word = name if len(moment.turns) == 1 else names
    return f"{word} {turns}{of}"


def _shorten_dtypes(words: str) -> str:
    """Return the text with short names of dtypes."""
    return " ".join(
        SHORT.get(word.rstrip(","), word.rstrip(",")) + "," * word.endswith(",")
        for word in words.split(" ")
    )


NO_GRADIENT = "none"


@dataclass(frozen=True)
class _Branch:
    """A module or a parameter: its gradient, and its children."""

    name: str
    own: Gradient | None = None
    inner: tuple[_Branch, ...] = ()

    def like(self) -> object:
        """Return the properties that branches share if they are folded."""
        own = replace(self.own, path="") if self.own is not None else None
        return own, tuple((branch.name, branch.like()) for branch in self.inner)


@dataclass
class _Growing:
    """A branch that is still growing."""

    own: Gradient | None = None
    inner: dict[str, _Growing] = field(default_factory=dict)

    def branch(self, name: str) -> _Branch:
        """Return the branch with equal neighbors folded."""
        inner = [branch.branch(part) for part, branch in self.inner.items()]
        return _Branch(name, self.own, tuple(_fold_branches(inner)))


def _fold_branches(branches: Sequence[_Branch]) -> Iterator[_Branch]:
    """Yield branches, with consecutive equal numbered branches folded: `0-11`."""
    group: list[_Branch] = []
    for branch in branches:
        if group and branch.name.isdigit() and branch.like() == group[-1].like():
            group.append(branch)
            continue
        yield from _fold_group(group)
        group = [branch]
    yield from _fold_group(group)


def _fold_group(group: list[_Branch]) -> Iterator[_Branch]:
    if len(group) > 1 and group[0].name.isdigit():
        yield replace(group[0], name=f"{group[0].name}-{group[-1].name}")
    else:
        yield from group


def _format_gradients(gradients: Sequence[Gradient], terminal: Terminal) -> list[Line]:
    """Return a table of values and the gradients that they received."""
    if not gradients:
        return [[("gradients", "bold"), ("  no module received a gradient", "plain")]]
    root = _Growing()
    for gradient_row in gradients:
        at = root
        for part in gradient_row.path.split("."):
            at = at.inner.setdefault(part, _Growing())
        at.own = gradient_row
    rows = [
        row
        for branch in root.branch("").inner
        for row in _make_gradient_rows(branch, 0)
    ]
    room = (terminal.width - 2) // 3
    first = min(max(count_cells(name) for name, _, _ in rows), room)
    second = max(count_cells(value) for _, value, _ in rows)
    heads = pad("gradients", first), pad("value", second), "gradient"
    lines: list[Line] = [[("  ".join(heads), "bold")]]
    for name, value, gradient in rows:
        label = pad(cut_text(name, first, terminal.glyphs.cut), first)
        plain = gradient not in (NO_GRADIENT, "frozen")
        lines.append(
            [
                (f"{label}  ", ""),
                (f"{pad(value, second)}  ", "shape"),
                (gradient, "shape" if plain else "plain"),
            ]
        )
    return lines


def _make_gradient_rows(branch: _Branch, depth: int) -> Iterator[tuple[str, str, str]]:
    own = branch.own
    name = "  " * depth + branch.name
    if own is None:
        yield name, "", ""
    else:
        yield name, _format_fact(own.shape, own.dtype), _describe_gradient(own)
    for inner in branch.inner:
        yield from _make_gradient_rows(inner, depth + 1)


def _describe_gradient(own: Gradient) -> str:
    """Return a description of the gradient."""
    if own.kind == "frozen":
        return "frozen"
    if own.gradient is None:
        return NO_GRADIENT
    sparse = f" {own.layout}" if own.layout != "strided" else ""
    return _format_fact(own.gradient, own.gradient_dtype) + sparse


def _format_fact(shape: tuple[int, ...], dtype: str) -> str:
    """Return `(64, 10) f32`."""
    sizes = ", ".join(map(str, shape))
    comma = "," if len(shape) == 1 else ""
    return f"({sizes}{comma}) {SHORT.get(dtype, dtype)}"


GUTTER = 7
"""Columns of the line number and the rule."""

NARROW = 60
"""Columns below which the program's own lines get a third, not a half."""

MOST_ROWS = 120
"""Lines of the program that are shown, at most."""

MOST_SKIPPED = 8
"""Things that were not run, each in a line of its own, at most."""

MOST_PLACES = 4
"""Lines that are named for an assumption, at most."""


def format_story(
    report: Report,
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
    gradients: bool = False,
    most: int | None = None,
) -> str:
    """Return the story, gradients if requested, and the findings.

    `most` limits the notes of a finding.
    """
    terminal = Terminal(max(width or 100, 40), colour, UNICODE if unicode else ASCII)
    rows = _format_rows(report, terminal)
    lines = [*_format_head(report, terminal), [], *rows, *([[]] if rows else [])]
    if gradients and report.rehearsal is not None:
        lines += [*_format_gradients(report.rehearsal.gradients, terminal), []]
    if report.rehearsal is not None and report.rehearsal.memory is not None:
        lines += [*format_rehearsed_memory(report.rehearsal.memory, terminal), []]
    notes = _format_assumptions(report.assumptions, terminal)
    findings_text = reports.format_report(report, width, colour, unicode, notes, most)
    return render_lines(lines, colour) + findings_text


def _format_head(report: Report, terminal: Terminal) -> list[Line]:
    """Return the command, its device, and how long it ran."""
    rehearsal = report.rehearsal
    if rehearsal is None:
        return [[(f"{report.target} did not run", "error")]]
    command = " ".join([report.target, *rehearsal.arguments])
    steps = formatting.format_plural(rehearsal.steps, "optimizer step")
    done = f"on {rehearsal.device}: {steps} in {rehearsal.seconds:.1f} s, with no data"
    if count_cells(command) + 2 + count_cells(done) <= terminal.width:
        return [[(command, "title"), (f"  {done}", "plain")]]
    parts = wrap_text(command, terminal.width)
    below = wrap_text(done, terminal.width)
    return [
        *[[(part, "title")] for part in parts],
        *[[(part, "plain")] for part in below],
    ]


def _format_rows(report: Report, terminal: Terminal) -> list[Line]:
    """Return the lines of the run, each with its results."""
    rehearsal = report.rehearsal
    if rehearsal is None:
        return []
    rows = _build_rows(rehearsal.story, report.trace)
    more = len(rows) - MOST_ROWS
    rows = rows[:MOST_ROWS]
    lines: list[Line] = []
    width = min(
        max((count_cells(row.code) + 2 * row.depth for row in rows), default=0),
        (terminal.width - GUTTER) // (2 if terminal.width >= NARROW else 3),
    )
    file = None
    for row in rows:
        if row.file != file:
            file = row.file
            name = cut_left(file, terminal.width, terminal.glyphs.cut)
            lines.append([(name or "in a library", "bold")])
        lines += _iter_lines(row, width, terminal)
    if more > 0:
        lines.append([(f"and {formatting.format_plural(more, 'line')} more", "plain")])
    for definition in rehearsal.skipped[:MOST_SKIPPED]:
        lines += label_text("not run", definition, terminal)
    more = len(rehearsal.skipped) - MOST_SKIPPED
    if more > 0:
        lines += label_text("not run", f"{more} more, in the JSON", terminal)
    return lines


def _iter_lines(row: _Row, width: int, terminal: Terminal) -> Iterator[Line]:
    """Yield the lines of a row; its results are wrapped without breaking a shape."""
    glyphs = terminal.glyphs
    room = terminal.width - GUTTER - width - 2
    code = cut_text("  " * row.depth + row.code, width, glyphs.cut)
    shaped = row.kind in ("batches", "backward")
    broken = _wrap_shapes if shaped else _wrap_words
    parts = [part for result in row.what for part in broken(result, room)]
    shorten = cut_left if row.kind in ("save", "load") else cut_text
    for at, part in enumerate(parts or [""]):
        number = row.line if at == 0 and row.line else ""
        yield [
            (f"{number:>4} {glyphs.rule} ", "edge"),
            (f"{pad(code if at == 0 else '', width)}  ", ""),
            (shorten(part, room, glyphs.cut), "shape" if shaped else "plain"),
        ]


def _wrap_shapes(text: str, room: int) -> Iterable[str]:
    """Return the text in lines, broken after commas that are not inside a shape."""
    depth, joined, before = 0, "", ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        breaks = letter != " " or (depth == 0 and before == ",")
        joined += letter if breaks else "\0"
        before = letter
    return [line.replace("\0", " ") for line in _wrap_words(joined, room)]


def _wrap_words(text: str, room: int) -> Iterable[str]:
    """Return the text in lines, with those after the first indented."""
    lines = [*wrap_text(text, room)]
    if len(lines) > 1:
        lines = [*wrap_text(text, room - 2)]
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def _format_assumptions(
    assumptions: Iterable[Assumption], terminal: Terminal
) -> list[Line]:
    """Return the assumptions of the run, equal ones together, with their lines."""
    groups: dict[tuple[str, str], list[Assumption]] = {}
    for assumption in sorted(assumptions, key=lambda member: not member.stands_for):
        groups.setdefault(reports.format_assumption(assumption), []).append(assumption)
    lines: list[Line] = []
    for (label, message), group in groups.items():
        text = message
        places = [member.span for member in group if member.span is not None]
        if places:
            names = [f"{place.file}:{place.line}" for place in places[:MOST_PLACES]]
            more = len(places) - len(names)
            text += f" at {', '.join(names)}" + (f" and {more} more" if more else "")
        count = sum(member.count for member in group)
        if count > len(group):
            text += f", {formatting.format_times(count)}"
        lines += label_text(label, text, terminal)
    return lines
