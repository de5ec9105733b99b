"""The story of a rehearsal as rows: the program's own lines, and what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shapewright.trace.record import Trace
from shapewright.trace.rehearsal import Moment

MOST_RUNS = 4
"""Runs of numbers that are told of a loop's turns."""

SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the story."""

    file: str
    line: int
    depth: int
    code: str
    what: str
    kind: str


def rows(story: Moment, trace: Trace | None) -> list[Row]:
    """All rows, in the order in which they first happened."""
    texts = {
        name: source.text.splitlines()
        for name, source in (trace.sources if trace is not None else {}).items()
        if source.text is not None
    }
    return [row for each in story.inner for row in _rows(each, 0, texts)]


def _rows(moment: Moment, depth: int, texts: Mapping[str, list[str]]) -> Iterator[Row]:
    if moment.kind == "loop" and not any(map(_tells, moment.inner)):
        return
    inner = list(moment.inner)
    kind, what = moment.kind, _what(moment)
    if kind == "loop":
        own = [m for m in inner if m.kind == "batches" and m.line == moment.line]
        if own:
            inner = [each for each in inner if each not in own]
            kind, what = "batches", "; ".join(map(_what, own))
    yield Row(moment.file, moment.line, depth, _code(moment, texts), what, kind)
    for each in inner:
        yield from _rows(each, depth + 1, texts)


def _tells(moment: Moment) -> bool:
    """Whether a moment is worth its line: a loop in which nothing happened is not."""
    return moment.kind != "loop" or any(map(_tells, moment.inner))


def _code(moment: Moment, texts: Mapping[str, list[str]]) -> str:
    lines = texts.get(moment.file, [])
    if 0 < moment.line <= len(lines):
        return lines[moment.line - 1].strip()
    return moment.text


def _what(moment: Moment) -> str:
    """What came of it, in words."""
    if moment.kind == "loop":
        return f"{turns(moment, 'turn')}"
    if moment.kind == "batches":
        made = " | ".join(map(short, moment.shapes))
        return f"{turns(moment, 'batch')}: {made}  ({moment.text})"
    if moment.kind == "backward":
        return " | ".join(map(short, moment.shapes))
    if moment.kind in ("save", "load"):
        name = moment.text or "a buffer"
        return f"{name}, kept for this run only" if moment.kind == "save" else name
    return moment.text


def turns(moment: Moment, name: str) -> str:
    """`turns 1, 2, 90 of 90`."""
    names = f"{name}es" if name == "batch" else f"{name}s"
    runs: list[list[int]] = []
    for each in moment.turns:
        if runs and each == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], each]
        else:
            runs.append([each])
    if len(runs) > MOST_RUNS:
        runs = [*runs[: MOST_RUNS - 1], [0], runs[-1]]
    told = (
        ", ".join("..." if run == [0] else "-".join(map(str, run)) for run in runs)
        or "none"
    )
    of = f" of {moment.total}" if moment.total is not None else ""
    word = name if len(moment.turns) == 1 else names
    return f"{word} {told}{of}"


def short(words: str) -> str:
    """The same with short names of dtypes."""
    return " ".join(
        SHORT.get(word.rstrip(","), word.rstrip(",")) + "," * word.endswith(",")
        for word in words.split(" ")
    )
