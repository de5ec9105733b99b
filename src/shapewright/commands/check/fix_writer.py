"""Fixes written into the program's files, or shown as a difference."""

from __future__ import annotations

import os
import tempfile
import tokenize
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from pathlib import Path

from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.spans import apply_edits
from shapewright.record.report import Report


def chosen(report: Report, unsafe: bool) -> list[Fix]:
    """The fix to write for each finding: a `safe` one, or with `unsafe` the best."""
    found = []
    for finding in report.findings:
        fix = best(finding, unsafe)
        if fix is not None:
            found.append(fix)
    return found


def best(finding: Finding, unsafe: bool) -> Fix | None:
    """The first fix that may be written, checked ones only."""
    grades = ("safe", "fits") if unsafe else ("safe",)
    return next((f for f in finding.fixes if f.checked and f.grade in grades), None)


def changed(fixes: Iterable[Fix]) -> dict[str, tuple[str, str]]:
    """Old and new text of each file; of two edits at one place the first counts."""
    by_file: dict[str, list[Edit]] = {}
    for fix in fixes:
        for edit in fix.edits:
            others = by_file.setdefault(edit.span.file, [])
            if not any(overlap(edit, other) for other in others):
                others.append(edit)
    found = {}
    for file, edits in by_file.items():
        old = read(file)
        found[file] = old, apply_edits(old, [(e.span, e.text) for e in edits])
    return found


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text, or insert at one place."""
    a, b = one.span, other.span
    starts, ends = (a.line, a.column), (a.end_line, a.end_column)
    return not (
        ends < (b.line, b.column)
        or (b.end_line, b.end_column) < starts
        or (ends == (b.line, b.column) and ends != (b.end_line, b.end_column))
        or ((b.end_line, b.end_column) == starts and starts != ends)
    )


def encoding_of(file: str | Path) -> str:
    """The encoding that a Python file says it has, with its mark at the beginning."""
    with open(file, "rb") as stream:
        return tokenize.detect_encoding(stream.readline)[0]


def read(file: str) -> str:
    """A file's text, its line ends kept."""
    with open(file, encoding=encoding_of(file), newline="") as stream:
        return stream.read()


def difference(fixes: Iterable[Fix]) -> str:
    """The changes as a unified diff."""
    return "".join(line for part in differences(fixes) for line in part)


def differences(fixes: Iterable[Fix]) -> Iterator[list[str]]:
    """The lines of each file's diff."""
    for file, (old, new) in sorted(changed(fixes).items()):
        lines = unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            f"a/{file}",
            f"b/{file}",
        )
        yield [line if line.endswith("\n") else f"{line}\n" for line in lines]


def write(fixes: Iterable[Fix]) -> list[str]:
    """Write the changed files, each at once as a whole; their names."""
    names = []
    for file, (old, new) in sorted(changed(fixes).items()):
        if new != old:
            replace(Path(file), new)
            names.append(file)
    return names


def replace(file: Path, text: str) -> None:
    """Put a whole new file in the place of the old one, with its permissions."""
    target = file.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        encoding = encoding_of(target)
        with os.fdopen(handle, "w", encoding=encoding, newline="") as stream:
            stream.write(text)
        os.chmod(name, target.stat().st_mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
