"""Write results to stdout or to a file of ours; find what the terminal can show; print
a progress line on stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from shapewright.cli.parser import Unusable
from shapewright.views import renderers
from shapewright.views.renderers import Display

PIPE_WIDTH = 100
"""Columns of a result that is not written to a terminal."""


if TYPE_CHECKING:
    from shapewright.record.report import Report


def get_display(stream: TextIO, color: str = "auto") -> Display:
    """Return the display for `stream`, from its kind and `--color` or, with "auto",
    NO_COLOR and FORCE_COLOR.
    """
    terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if terminal else PIPE_WIDTH
    has_color = color == "always" if color != "auto" else _has_color(terminal)
    return Display(width, has_color, _has_unicode(stream))


def render_result(
    shows: str, option: str, result: Any, options: argparse.Namespace, **asked: Any
) -> str:
    """Return a result for stdout, in the colors that the options ask for, or for the
    file of `-o`; `asked` are further fields of `Display`.
    """
    display = get_display(sys.stdout, options.color)
    if options.file is not None:
        display = Display()
    text: str = renderers.render(shows, option, result, replace(display, **asked))
    return text


MOST_NOTES = 3
"""Notes below a finding in a terminal; the rest is behind `--verbose`."""


def render_report(
    shows: str, report: Report, options: argparse.Namespace, **asked: Any
) -> str:
    """Return a report for stdout or a file; with `-q`, nothing but its findings."""
    from shapewright import __version__

    if options.quiet and options.format in ("full", "concise"):
        if not report.findings:
            return ""
        shows = "report"
        report = _select_findings(report)
    whole = options.verbose or options.file is not None
    asked = {**asked, "version": __version__, "notes": None if whole else MOST_NOTES}
    return render_result(shows, options.format, report, options, **asked)


def _select_findings(report: Report) -> Report:
    """Return the report without all that is no finding, and without clean parts."""
    parts = tuple(_select_findings(part) for part in report.parts if part.findings)
    trace = report.trace and replace(report.trace, assumptions=())
    return replace(report, trace=trace, chosen=None, parts=parts, skipped=())


def with_severities(report: Report, options: argparse.Namespace) -> Report:
    """Return the report with its warnings as errors, if the options ask for it."""
    if not options.warnings_as_errors:
        return report
    findings = tuple(
        replace(finding, severity="error") if finding.severity == "warning" else finding
        for finding in report.findings
    )
    parts = tuple(with_severities(part, options) for part in report.parts)
    return replace(report, findings=findings, parts=parts)


def get_exit_code(report: Report, options: argparse.Namespace) -> int:
    """Return the exit code of a report, which `--exit-zero` makes 0."""
    return 0 if options.exit_zero else report.exit_code


def _has_color(terminal: bool) -> bool:
    """Return whether to use colour; a non-empty NO_COLOR takes precedence over
    FORCE_COLOR.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _has_unicode(stream: TextIO) -> bool:
    try:
        "├→…⋮".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


PATIENCE = 1.0
"""Seconds of work before anything is shown; most runs take less."""

PAUSE = 0.1
"""Seconds between two changes of the line."""

CLEAR = "\r\x1b[K"


@contextmanager
def show_progress(
    stream: IO[str], patience: float | None = None, quiet: bool = False
) -> Iterator[ProgressLine | None]:
    """Yield a line for progress, or None if the progress would not be visible."""
    if quiet or not is_progress_visible(stream):
        yield None
        return
    line = ProgressLine(stream, PATIENCE if patience is None else patience)
    try:
        yield line
    finally:
        line.clear()


def is_progress_visible(stream: IO[str]) -> bool:
    """Return whether somebody looks at a terminal that can erase a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class ProgressLine:
    """A line of a terminal, written over and over.

    The cursor stays at its beginning, so that what the program prints stands there.
    """

    def __init__(self, stream: IO[str], patience: float) -> None:
        self.stream = stream
        self.began = time.monotonic()
        self.due = self.began + patience
        self.state = ""

    def show(self, describe: Callable[[], str]) -> None:
        """Show a state with the seconds so far in place of the earlier one, but not too
        often.
        """
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + PAUSE
        room = shutil.get_terminal_size().columns - 1  # a longer line would wrap
        seconds = f"  {now - self.began:.0f} s"
        state = f"{describe()[: room - len(seconds)]}{seconds}"
        if state != self.state:
            self.state = state
            self.stream.write(f"{CLEAR}{state}\r")
            self.stream.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self.state:
            self.state = ""
            self.stream.write(CLEAR)
            self.stream.flush()


MARK = "# shapewright "
"""The beginning of our text files; the rest of that line names the content."""

DRAWING = "<!-- shapewright "
"""The beginning of our drawings."""

_TEXT = r'"(?:[^"\\]|\\.)*"'

RECORD = re.compile(
    r'\{\s*"version":\s*\d+,\s*"kind":\s*"traces?",\s*"target":'
    rf'|(?:\[\s*)?\{{\s*"version":\s*\d+,\s*"target":\s*{_TEXT},\s*"(?:findings|spec)":'
    rf'|\{{\s*"\$schema":\s*{_TEXT},\s*"version":\s*"2[.\d]*",\s*"runs":\s*\[\s*'
    r'\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"shapewright"'
)
"""The beginning of our JSON and SARIF files."""

ROWS = re.compile(
    r"target,(?:module,call,class,depth|op,name,module,call"
    r"|file,line,column,severity,code,message),"
    rf'|\{{"target": {_TEXT}, '
    rf'"(?:module": {_TEXT}, "call": \d+, "class"|op": \d+, "name"|code": {_TEXT}, '
    r'"severity"):'
)
"""The beginning of our files with rows: the header of CSV, the first fields of JSON."""

SNAPSHOT = re.compile(rb"\x80\x04\x95.{8}\}\x94\(\x8c\x0bshapewright", re.DOTALL)
"""The beginning of our snapshots of an allocator: a dictionary, and its first key."""

PICTURE = re.compile(rb"\x89PNG.{33}tEXtSoftware\0shapewright ", re.DOTALL)
"""The beginning of our PNGs: signature, size, and then the program's name."""


def check_writable(path: Path) -> None:
    """Raise `Unusable` unless `path` can be written without losing anything.

    A file that does not exist, is empty, is not a regular file (`/dev/null`) or was
    written by us may be written.
    """
    if path.is_dir():
        raise Unusable(f"`{path}` is a folder, -o needs a file")
    if not path.exists():
        if not path.parent.is_dir():
            raise Unusable(f"no folder `{path.parent}` to write `{path.name}` to")
        return
    if _is_regular(path) and not _is_ours(path):
        raise Unusable(
            f"`{path}` was not written by shapewright, so it is not overwritten; "
            "name another file or remove it"
        )


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.stat().st_mode)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        raw = file.read(4096)
    head = raw.decode("utf-8", "replace")
    return (
        not head
        or head.startswith((MARK, DRAWING))
        or RECORD.match(head) is not None
        or ROWS.match(head) is not None
        or PICTURE.match(raw) is not None
        or SNAPSHOT.match(raw) is not None
    )


def save(path: Path, content: str | bytes) -> None:
    """Write `content` to `path`, completely or not at all."""
    check_writable(path)
    raw = content.encode() if isinstance(content, str) else content
    if path.exists() and not _is_regular(path):
        path.write_bytes(raw)
        return
    import tempfile  # here, because most runs save nothing

    target = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise Unusable(f"cannot write `{path}`: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.chmod(name, _get_mode(target))
        os.replace(name, target)
    except BaseException:  # raised again
        os.unlink(name)
        raise


def _get_mode(target: Path) -> int:
    """Return the permissions that a file has, or those that a new file would get."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def leave(code: int) -> None:
    """End with the whole result written, whatever the program left running.

    Its threads would keep the process alive, and its exit handlers may print.
    """
    own = {threading.main_thread(), threading.current_thread()}
    with contextlib.suppress(BrokenPipeError, ValueError):
        sys.stdout.flush()
    if any(not t.daemon and t not in own for t in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)
    if "torch" in sys.modules:
        sys.stdout = sys.stderr
        with contextlib.suppress(OSError):
            os.dup2(2, 1)


def show(text: str) -> None:
    """Write `text` to stdout. A reader that has gone (`| head`) is not an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try to flush again at exit and complain on stderr.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
