"""The story of a program that trains: a tree of loops and of their events."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shapewright.engine.call_sites import USER
from shapewright.engine.identity import BLANK
from shapewright.record.report import Moment, Place

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.module_calls import Calls


class Meet(Protocol):
    """A function that notes an event of a training, once for each place."""

    def __call__(
        self, kind: str, place: Place, other: Place | None = None, name: str = ""
    ) -> None: ...


@dataclass(slots=True)
class ProgramRun:
    """A running program: its engine, its calls of modules, and its story."""

    engine: Engine
    calls: Calls
    story: Story

    def here(self) -> Place:
        """Return the file and line of the program that is running."""
        return self.story.line(self.engine)

    def count_steps(self) -> int:
        """Return how many steps optimizers have taken."""
        return 0

    def lines(self) -> tuple[Place, ...]:
        """Return the lines of the program that are running, innermost first."""
        return tuple(self.story.iter_lines(self.engine))

    def grad(self, parameter: Any) -> Any:
        """Return the gradient of a parameter, or of its twin if it has values."""
        engine = self.engine
        gradient = engine.grads.get(id(parameter))
        if gradient is not None:
            return gradient
        if not parameter.is_meta and engine.info(parameter).kind != BLANK:
            twin = engine.info(parameter).twin
            return None if twin is None else twin.grad
        return parameter.grad


class Node:
    """A moment of the story that is still being extended."""

    __slots__ = (
        "count",
        "file",
        "inner",
        "kind",
        "line",
        "ran",
        "shapes",
        "text",
        "total",
        "turns",
    )  # fmt: skip

    def __init__(
        self, kind: str, file: str = "", line: int = 0, text: str = ""
    ) -> None:
        self.kind = kind
        self.file = file
        self.line = line
        self.text = text
        self.count = 0
        self.turns: dict[int, None] = {}
        self.total: int | None = None
        self.ran = 0
        self.shapes: dict[str, None] = {}
        self.inner: dict[Any, Node] = {}

    def child(self, kind: str, file: str, line: int, text: str) -> Node:
        """Return the inner moment of a kind at a place, and count it."""
        key = (kind, file, line, text)
        node = self.inner.get(key)
        if node is None:
            node = self.inner[key] = Node(kind, file, line, text)
        node.count += 1
        return node

    def forget(self, node: Node) -> None:
        """Remove an inner moment."""
        for key, inner_node in list(self.inner.items()):
            if inner_node is node:
                del self.inner[key]

    def told(self, folder: str) -> Moment:
        """Return the moment as data, with files relative to a folder."""
        return Moment(
            self.kind, format_file(self.file, folder), self.line, self.text, self.count,
            tuple(sorted(self.turns)), self.total, tuple(self.shapes),
            tuple(node.told(folder) for node in self.inner.values()), self.ran,
        )  # fmt: skip


def format_file(file: str, folder: str) -> str:
    """Return the path of a file, relative to `folder` if the file lies below it."""
    if not file:
        return ""
    path = os.path.relpath(file, folder)
    return file if path.startswith("..") else path


class Story:
    """The tree of moments, and the run's current position in it."""

    def __init__(self, holds: Callable[[str], bool]) -> None:
        self.holds = holds
        self.folder = os.getcwd()
        self.root = Node("run")
        self.at = [self.root]
        self.skipped: dict[str, None] = {}
        self.heard: Callable[[str, int], None] | None = None  # now and then

    def note_event(self, engine: Engine, kind: str, text: str = "") -> Node:
        """Note an event at the line of the program that is running."""
        file, line = self.line(engine)
        own = f"{tempfile.tempdir}{os.sep}"
        if text.startswith(own):  # where a real run has its temporary files
            text = os.path.join(os.environ.get("TMPDIR", "/tmp"), text[len(own) :])
        node = self.at[-1].child(kind, file, line, text)
        if self.heard is not None and node.count.bit_count() == 1:  # 1, 2, 4, 8 ...
            self.heard(file, line)
        return node

    @contextmanager
    def within(self, node: Node) -> Iterator[None]:
        """Add the events of the block to a moment."""
        self.at.append(node)
        depth = len(self.at)
        try:
            yield
        finally:
            del self.at[depth - 1 :]

    def line(self, engine: Engine) -> tuple[str, int]:
        """Return the innermost line in the program's own files, or in a library."""
        frame: Any = sys._getframe(1)
        first: tuple[str, int] | None = None
        while frame is not None:
            code = frame.f_code
            if engine.sites.kind_of(code) == USER:
                place = code.co_filename, frame.f_lineno
                if self.holds(code.co_filename):
                    return place
                first = first or place
            frame = frame.f_back
        return first or ("", 0)

    def iter_lines(self, engine: Engine) -> Iterator[Place]:
        """Yield the lines in the program's own files that are running, innermost
        first.
        """
        frame: Any = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if self.holds(code.co_filename) and engine.sites.kind_of(code) == USER:
                yield code.co_filename, frame.f_lineno
            frame = frame.f_back

    def skip(self, what: str) -> None:
        """Note something that a real run does and this run does not."""
        self.skipped.setdefault(what)


def get_site_line(site: Any) -> tuple[str, int] | None:
    """Return the file and line of a call site, or None if the line is unknown."""
    code, offset = site
    line = next(
        (at[0] for index, at in enumerate(code.co_positions()) if index == offset // 2),
        None,
    )
    return (code.co_filename, line) if line is not None else None
