"""The error of a real script, explained by a rehearsal of that script.

An error comes from what the script did before the failing call, which a real run does
not record. So the script is rehearsed in a process of its own, which computes nothing
and writes nothing, and the finding at the line of the error is told.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from shapewright.analysis.provenance.origins import drop_repeated
from shapewright.commands.trace import build_empty_trace
from shapewright.findings.codes import (
    DTYPE_MISMATCH,
    ITEMS_DO_NOT_STACK,
    MISSING_DEVICE,
    STACKED_SHAPES_DIFFER,
)
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.spans import Span, is_installed
from shapewright.record.trace import Trace

SECONDS = 15
"""How long a rehearsal may take."""
SOON = 8.0
"""How long one may take where the failing call has its explanation already, at a line
of the program itself; not of a dtype, which another line decided.
"""
INSIDE = "SHAPEWRIGHT_EXPLAINING"
"""The environment variable of the rehearsal, which explains no error itself."""

Line = tuple[str, int]
_Running = subprocess.Popen[str]


@contextmanager
def rehearse_script_of(error: BaseException) -> Iterator[_Running | None]:
    """Rehearse the script that an error ended while the block runs; None without one.

    Nothing is left of the rehearsal behind the block.
    """
    script = _find_script(error)
    if script is None or os.environ.get(INSIDE):
        yield None
        return
    running = _run_rehearsal(script)
    if running is None:
        yield None
        return
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
            running.communicate()


def explain_script_error(
    error: BaseException, running: _Running | None, known: Finding | None = None
) -> tuple[Finding, Trace] | None:
    """Return the finding of a rehearsal at one of the lines of an error's traceback,
    with the trace to show it with, or None.

    `known` is what the failing call explains: the finding must be of the same kind and
    sizes then, and say more.
    """
    own = known is not None and (
        known.span is None or not is_installed(known.span.file)
    )
    is_whole = own and known is not None and known.code != DTYPE_MISMATCH
    report = _await_report(running, SOON if is_whole else SECONDS)
    if report is None:
        return None
    for line in reversed(list(_iter_lines(error))):  # the innermost first
        for data in report.get("findings", ()):
            finding = _read_finding(data)
            span = finding.span
            if span is None or finding.severity != "error":
                continue
            if (os.path.abspath(span.file), span.line) != line:
                continue
            collated = _tell_collated(known, finding)
            if collated is not None:
                return collated, _build_trace(collated, span)
            words = data["torch_message"]
            if known is None or _is_same(known, finding, words, error):
                if known is not None and not _is_better(known, finding):
                    finding = _add_places(known, finding)
                finding = _tell_of_this_run(finding, words, error)
                return finding, _build_trace(finding, span)
    return None


def _add_places(known: Finding, finding: Finding) -> Finding:
    """Return what the failing call explains, with the places that only a rehearsal
    knows: those where a size or a dtype comes from.
    """
    spans = [known.span, *(related.span for related in known.related)]
    more = drop_repeated(finding.related, spans)
    return replace(known, related=(*more, *known.related)[:MOST_PLACES])


MOST_PLACES = 7
"""Places that a finding names."""


def _tell_of_this_run(finding: Finding, words: str, error: BaseException) -> Finding:
    """Return a finding in the words of a real run: of its machine, and of the key that
    it looked up.
    """
    key = KEY.search(words)
    if isinstance(error, KeyError) and error.args and key is not None:
        label = str(error.args[0])
        return replace(
            finding, message=re.sub(rf"\b{key[1]}\b", label, finding.message)
        )
    if finding.code != MISSING_DEVICE:
        return finding
    message = finding.message.partition(";")[0]
    message = message.replace("the rehearsed machine", "this machine")
    return replace(finding, message=message)


def _tell_collated(known: Finding | None, finding: Finding) -> Finding | None:
    """Return what a rehearsal says of items that do not stack, with the shapes of a
    real run, which collates other ones; None if the run failed at another call.
    """
    if known is None or known.code != STACKED_SHAPES_DIFFER:
        return None
    items = ITEMS.search(finding.message)
    shapes = SHAPE.findall(known.message)
    if finding.code != ITEMS_DO_NOT_STACK or items is None or len(shapes) != 2:
        return None
    if any(shape.count(",") != items[3].count(",") for shape in shapes):
        return None
    message = f"two items {items[1]} {shapes[0]} in one and {shapes[1]} in the other"
    return replace(finding, message=message)


ITEMS = re.compile(
    r"^items \[.*?\] and \[.*?\] (of the data set .*)"
    r" (\([\d, ]*\)) in one and (\([\d, ]*\)) in the other"
)
SHAPE = re.compile(r"\([\d, ]*\)")


def _is_same(
    known: Finding, finding: Finding, message: str, error: BaseException
) -> bool:
    """Return whether a rehearsal met the same error, with the same sizes."""
    numbers = NUMBER.findall(str(error))
    return finding.code == known.code and NUMBER.findall(message) == numbers


def _is_better(known: Finding, finding: Finding) -> bool:
    """Return whether a rehearsal mends an error, or says more of it than its call."""
    return bool(finding.fixes) or (
        not known.fixes and len(finding.related) > len(known.related)
    )


KEY = re.compile(r"KeyError: (\d+)$")
"""The label that a rehearsal looked up: another draw than that of the real run."""
NUMBER = re.compile(r"\d+")


def _iter_lines(error: BaseException) -> Iterator[Line]:
    """Yield the file and line of each frame of a traceback."""
    where = error.__traceback__
    while where is not None:
        yield os.path.abspath(where.tb_frame.f_code.co_filename), where.tb_lineno
        where = where.tb_next


def _find_script(error: BaseException) -> Path | None:
    """Return the script that runs as `__main__` in a traceback, or None."""
    where = error.__traceback__
    while where is not None:
        frame = where.tb_frame
        main = frame.f_globals.get("__name__") == "__main__"
        path = Path(frame.f_code.co_filename)
        if main and path.suffix == ".py" and path.is_file():
            return path
        where = where.tb_next
    return None


def _run_rehearsal(script: Path) -> _Running | None:
    """Start the rehearsal of a script, which reports as JSON."""
    from shapewright.runtime.claimed_machine import has_gpu

    device = "cuda" if has_gpu() else "cpu"
    command = [
        sys.executable, "-m", "shapewright", "rehearse", "--format", "json",
        "--device", device, "--timeout", str(SECONDS - 3), str(script), *sys.argv[1:],
    ]  # fmt: skip
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={**os.environ, INSIDE: "1"},
        )  # fmt: skip
    except OSError:
        return None


def _await_report(running: _Running | None, seconds: float) -> dict[str, Any] | None:
    """Return the report of a rehearsal as data, or None if there is none in time."""
    if running is None:
        return None
    try:
        read: dict[str, Any] = json.loads(running.communicate(timeout=seconds)[0])
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return read


def _read_finding(data: dict[str, Any]) -> Finding:
    """Return a finding from its data."""
    related = tuple(
        Related(_read_span(place["span"]), place["message"])
        for place in data["related"]
        if place["span"]
    )
    fixes = tuple(_read_fix(fix) for fix in data["fixes"])
    span = _read_span(data["span"]) if data["span"] else None
    return Finding(
        data["code"], data["severity"], data["message"], span, data["module"] or "",
        related=related, fixes=fixes, lines=tuple(data["lines"]),
    )  # fmt: skip


def _read_span(data: dict[str, Any]) -> Span:
    """Return a span from its data."""
    return Span(
        data["file"], data["line"], data["column"], data["end_line"], data["end_column"]
    )


def _read_fix(data: dict[str, Any]) -> Fix:
    """Return a fix from its data."""
    edits = tuple(
        Edit(Span(edit["file"], *edit["start"], *edit["end"]), edit["text"])
        for edit in data["edits"]
    )
    return Fix(data["grade"], data["message"], edits, data["checked"])


def _build_trace(finding: Finding, span: Span) -> Trace:
    """Return a trace that holds the text in which a finding stands."""
    from shapewright.engine.call_sites import get_source

    source = get_source(os.path.abspath(span.file))
    if source is not None:
        source = replace(source, file=span.file)
    return build_empty_trace("", finding, source)
