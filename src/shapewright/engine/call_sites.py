"""Source positions of calls: code offsets during the run, spans when read."""

from __future__ import annotations

import dis
import hashlib
import linecache
import os
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FrameType

import torch

from shapewright.engine.function_names import OPERATORS
from shapewright.program.spans import STAND_INS, Frame, Span, is_installed
from shapewright.record.ops import Source

TORCH = f"{Path(torch.__file__).parent}{os.sep}"  # not torchvision
OURS = f"{Path(__file__).parents[1]}{os.sep}"
STDLIB = sysconfig.get_paths()["stdlib"]
SITE_PACKAGES = tuple({sysconfig.get_paths()[k] for k in ("purelib", "platlib")})

SKIP, USER, BOUNDARY = range(3)

STAND_IN_FILES: set[str] = set()
"""Files from outside that stand for packages: no line of theirs is the program's."""

Site = tuple[tuple[CodeType, int], ...]
"""Code objects and instruction offsets of user frames, innermost first."""


def classify_file(filename: str) -> int:
    """Return `USER` for a file of the user; `SKIP` for torch's, ours or Python's."""
    if filename.startswith((TORCH, OURS)) or filename in STAND_IN_FILES:
        return SKIP
    if filename.startswith(STDLIB) and not filename.startswith(SITE_PACKAGES):
        return SKIP
    if filename.startswith("<frozen") or filename == "<string>":
        return SKIP
    if filename.endswith((".pyx", ".pxd")):  # a frame of compiled code
        return SKIP
    return USER


class Sites:
    """Walks the stack from a torch call up to the module call that it runs in.

    Code objects are looked up by `id`: their hash reads all their bytecode each time.
    """

    __slots__ = ("codes", "kinds")

    def __init__(self) -> None:
        self.kinds: dict[int, int] = {}
        self.codes: list[CodeType] = []  # kept alive, so that an id names one code

    def bound(self, code: CodeType) -> None:
        """End the walk at frames of this code; the module call knows its own site."""
        self.codes.append(code)
        self.kinds[id(code)] = BOUNDARY

    def kind_of(self, code: CodeType) -> int:
        """Classify this code as `SKIP`, `USER` or `BOUNDARY`."""
        kind = self.kinds.get(id(code))
        if kind is None:
            self.codes.append(code)
            kind = self.kinds[id(code)] = classify_file(code.co_filename)
        return kind

    def here(self) -> Site:
        """Return the user frames between the running call and its module call."""
        frame: FrameType | None = sys._getframe(2)
        get = self.kinds.get
        site: Site = ()
        while frame is not None:
            code = frame.f_code
            kind = get(id(code))
            if kind is None:
                kind = self.kind_of(code)
            if kind == USER:
                site += ((code, frame.f_lasti),)
            elif kind == BOUNDARY:
                break
            frame = frame.f_back
        return site


_texts: dict[str, tuple[int, int, Source]] = {}


def get_source(filename: str) -> Source | None:
    """Return a file's current text and hash; it is read again only if it changed."""
    if STAND_INS and filename in STAND_INS:
        text = STAND_INS[filename]
        return Source(filename, hashlib.sha256(text.encode()).hexdigest(), text)
    try:
        stat = os.stat(filename)
        cached = _texts.get(filename)
        if cached and cached[:2] == (stat.st_mtime_ns, stat.st_size):
            return cached[2]
        with open(filename, "rb") as stream:
            raw = stream.read()
    except OSError:
        return _get_cell_source(filename)
    source = Source(
        filename, hashlib.sha256(raw).hexdigest(), raw.decode("utf-8", "replace")
    )
    _texts[filename] = (stat.st_mtime_ns, stat.st_size, source)
    return source


def _get_cell_source(filename: str) -> Source | None:
    """Return the source of a notebook cell or prompt, kept in Python's `linecache`."""
    text = "".join(linecache.getlines(filename))
    if not text:
        return None
    return Source(filename, hashlib.sha256(text.encode()).hexdigest(), text)


class Positions:
    """The source spans of instructions; every code object is read once."""

    def __init__(self, folder: str, sources: dict[str, Source]) -> None:
        self.folder = folder
        self.sources = sources
        self.spans: dict[tuple[int, int], Frame] = {}
        self.tables: dict[int, list[tuple[int | None, ...]]] = {}
        self.alive: list[CodeType] = []  # so that an id names one code
        self.lines: dict[str, list[str]] = {}

    def frame(self, code: CodeType, offset: int) -> Frame:
        """Return the source frame of this instruction."""
        key = (id(code), offset)
        source_frame = self.spans.get(key)
        if source_frame is None:
            source_frame = self.spans[key] = Frame(
                self.span(code, offset), code.co_qualname
            )
        return source_frame

    def span(self, code: CodeType, offset: int) -> Span:
        table = self.tables.get(id(code))
        if table is None:
            self.alive.append(code)
            table = self.tables[id(code)] = list(code.co_positions())
        position = offset // 2
        line, end_line, column, end_column = (
            table[position] if 0 <= position < len(table) else (None,) * 4
        )
        line = line or code.co_firstlineno
        end_line = end_line or line
        name = code.co_filename
        return Span(
            self.relative(name),
            line,
            self.characters(name, line, column),
            end_line,
            self.characters(name, end_line, end_column),
        )

    def relative(self, filename: str) -> str:
        """Return the path relative to the run's start folder if it lies below it."""
        prefix = self.folder + os.sep
        return filename.removeprefix(prefix)

    def characters(self, filename: str, line: int, column: int | None) -> int:
        """Convert a byte column counted from 0 to a character column counted from 1."""
        if column is None:
            return 1
        lines = self.lines.get(filename)
        if lines is None:
            source = self.sources.get(filename)
            text = source.text if source and source.text else ""
            lines = self.lines[filename] = text.split("\n")
        if line <= len(lines) and not lines[line - 1].isascii():
            raw = lines[line - 1].encode()[:column]
            return len(raw.decode("utf-8", "replace")) + 1
        return column + 1


BINARY: dict[str, str] = {
    str(i): symbol for i, (_, symbol) in enumerate(getattr(dis, "_nb_ops", ()))
}


def find_operator(site: Site, name: str) -> str:
    """Return `+` for an `add` written as `x + y`; return other names unchanged."""
    if not site:
        return name
    code, offset = site[0]
    raw = code.co_code
    opcode = dis.opname[raw[offset]] if offset < len(raw) else ""
    if opcode == "BINARY_OP":
        return BINARY.get(str(raw[offset + 1]), name)
    if opcode == "COMPARE_OP":
        symbol = _read_comparison(raw[offset + 1])
        return symbol or name
    if opcode == "UNARY_NEGATIVE" and name.endswith("neg"):
        return "-"
    if opcode == "UNARY_INVERT":
        return "~"
    return name


def _read_comparison(argument: int) -> str:
    """Return the operator of a COMPARE_OP, whose low bits may hold flags."""
    shift = 0 if sys.version_info < (3, 12) else 4 if sys.version_info < (3, 13) else 5
    index = argument >> shift
    return str(dis.cmp_op[index]) if index < len(dis.cmp_op) else ""


__all__ = ["OPERATORS", "Positions", "find_operator", "get_source"]


def is_own_package(file: str) -> bool:
    """Return whether a Python file is the user's, not installed or Python's own."""
    return (
        file.endswith(".py") and not is_installed(file) and classify_file(file) == USER
    )
