"""The error of a real script, explained by a rehearsal of that script.

An error of autograd, of an optimizer or of devices comes from what the script did
before the failing call, which a real run does not record. So the script is rehearsed in
a process of its own, which computes nothing and writes nothing, and the finding at the
line of the error is told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from shapewright.commands.trace import build_empty_trace
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.spans import Span
from shapewright.record.trace import Trace

SECONDS = 15
"""How long a rehearsal may take."""
INSIDE = "SHAPEWRIGHT_EXPLAINING"
"""The environment variable of the rehearsal, which explains no error itself."""

Line = tuple[str, int]


def explain_script_error(error: BaseException) -> tuple[Finding, Trace] | None:
    """Rehearse the script that an error ended; return the finding at one of the lines
    of its traceback, with the trace to show it with, or None.
    """
    lines = list(_iter_lines(error))
    script = _find_script(error)
    if script is None or os.environ.get(INSIDE):
        return None
    report = _rehearse(script)
    if report is None:
        return None
    for line in reversed(lines):  # the innermost first
        for data in report.get("findings", ()):
            finding = _read_finding(data)
            span = finding.span
            if span is None or finding.severity != "error":
                continue
            if (os.path.abspath(span.file), span.line) == line:
                return finding, _build_trace(finding, span)
    return None


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


def _rehearse(script: Path) -> dict[str, Any] | None:
    """Return the report on a script as data, or None if there is none in time."""
    from shapewright.runtime.claimed_machine import has_gpu

    device = "cuda" if has_gpu() else "cpu"
    command = [
        sys.executable, "-m", "shapewright", "rehearse", "--format", "json",
        "--device", device, "--timeout", str(SECONDS - 3), str(script), *sys.argv[1:],
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=SECONDS, text=True,
            env={**os.environ, INSIDE: "1"},
        )  # fmt: skip
        read: dict[str, Any] = json.loads(done.stdout)
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
