"""The story of a rehearsal as rows: the program's own lines, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shapewright.trace.record import Trace
from shapewright.trace.rehearsal import Moment

MOST_RUNS = 4
"""Runs of numbers that are told of a loop's turns."""

MOST_NAMES = 4
"""Files that one line saved or loaded."""

SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the program, and what came of it, in a line or several."""

    file: str
    line: int
    depth: int
    code: str
    what: tuple[str, ...]
    kind: str


def rows(story: Moment, trace: Trace | None) -> list[Row]:
    """All rows, in the order in which they first happened."""
    texts = {
        name: source.text.splitlines()
        for name, source in (trace.sources if trace is not None else {}).items()
        if source.text is not None
    }
    whole = Moment("loop", inner=story.inner)
    return [replace(row, depth=row.depth - 1) for row in _rows(whole, 0, texts)][1:]


def _rows(moment: Moment, depth: int, texts: Mapping[str, list[str]]) -> Iterator[Row]:
    if moment.kind == "loop" and not any(map(_tells, moment.inner)):
        return
    inner = list(moment.inner)
    kind, what = moment.kind, _what([moment])
    if kind == "loop":
        own = [m for m in inner if m.kind == "batches" and m.line == moment.line]
        if own:
            inner = [each for each in inner if each not in own]
            kind = "batches"
            what = tuple(line for each in own for line in _what([each]))
    yield Row(moment.file, moment.line, depth, _code(moment, texts), what, kind)
    for group in _together(inner):
        if len(group) == 1:
            yield from _rows(group[0], depth + 1, texts)
        else:
            one, code = group[0], _code(group[0], texts)
            yield Row(one.file, one.line, depth + 1, code, _what(group), one.kind)


def _together(moments: Iterable[Moment]) -> list[list[Moment]]:
    """Moments in groups: what one line saves or loads under many names is one."""
    found: dict[object, list[Moment]] = {}
    for each in moments:
        files = each.kind in ("save", "load")
        key = (each.kind, each.file, each.line) if files else id(each)
        found.setdefault(key, []).append(each)
    return list(found.values())


def _tells(moment: Moment) -> bool:
    """Whether a moment is worth its line: a loop in which nothing happened is not."""
    return moment.kind != "loop" or any(map(_tells, moment.inner))


def _code(moment: Moment, texts: Mapping[str, list[str]]) -> str:
    lines = texts.get(moment.file, [])
    if 0 < moment.line <= len(lines):
        return lines[moment.line - 1].strip()
    return moment.text


def _what(moments: Sequence[Moment]) -> tuple[str, ...]:
    """What came of it, in words; of several, where they are one line's files."""
    moment = moments[0]
    kind, text = moment.kind, moment.text
    if kind == "loop":
        return (turns(moment, text or "turn"),)
    if kind == "batches":
        return turns(moment, "batch"), text, *map(short, moment.shapes)
    if kind == "backward":
        loss = f"loss {' | '.join(map(short, moment.shapes))}"
        return (f"{loss}, {text}" if text else loss,)
    if kind in ("save", "load"):
        names = [each.text or "a buffer" for each in moments]
        more = len(names) - MOST_NAMES
        told = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        return (f"{told}, kept for this run only" if kind == "save" else told,)
    if kind in ("train", "eval"):
        return (f"{text} in {'training' if kind == 'train' else 'evaluation'}",)
    if kind == "schedule" and moment.total is not None:
        return (f"{text}, {moment.total:,} steps at most",)
    return (text,)


def turns(moment: Moment, name: str) -> str:
    """`turns 1-2, 90 of 90`."""
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
        ", ".join(
            "..." if run == [0] else "-".join(f"{each:,}" for each in run)
            for run in runs
        )
        or "none"
    )
    of = f" of {moment.total:,}" if moment.total is not None else ""
    word = name if len(moment.turns) == 1 else names
    return f"{word} {told}{of}"


def short(words: str) -> str:
    """The same with short names of dtypes."""
    return " ".join(
        SHORT.get(word.rstrip(","), word.rstrip(",")) + "," * word.endswith(",")
        for word in words.split(" ")
    )
