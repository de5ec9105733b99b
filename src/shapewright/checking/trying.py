"""A program run in child processes, with changed text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from shapewright.reasoning.program import Program, kept

if TYPE_CHECKING:
    from types import TracebackType

    from shapewright.checking.tried import Overlay, Place, Tried
    from shapewright.runtime.processes.forks import Children


MOST_LATE = 3
"""Tries without an answer in time, after which no more are made."""


class Trying:
    """Children that run a program as its text would be with an edit.

    `run` runs it here; it is given the place of an error at which the run may end.
    `allowed` is how many seconds a child has.
    """

    def __init__(self, run: Callable[[Place | None], Program]) -> None:
        self.run = run
        self.allowed = 30.0
        self.stack = ExitStack()

    def __enter__(self) -> Trying:
        import shapewright.reasoning.hazards.all  # noqa: F401, not in each child
        from shapewright.engine.replacement import one_thread
        from shapewright.runtime.processes.forks import Children

        self.stack.enter_context(one_thread())
        self.children: Children[tuple[Overlay, Place], Tried] = (
            self.stack.enter_context(Children(self.tried, self.allowed, processors()))
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stack.close()

    def changed(self, texts: Overlay, gone: Place | None) -> Program:
        """The program run with changed texts, in this process."""
        from shapewright.inputs import overlay
        from shapewright.runtime.files.program_files import files_kept

        overlay.install(texts)
        with files_kept():
            return self.run(gone)

    def again(self, texts: Overlay) -> Program | None:
        """The program run with changed texts, whole."""
        from shapewright.runtime.processes.forks import Lost, in_child

        try:
            return in_child(lambda: kept(self.changed(texts, None)), self.allowed)
        except Lost:
            return None

    def attempt(
        self, many: Sequence[Overlay], gone: Sequence[Place], apart: bool
    ) -> list[Tried]:
        """The program run with each of many changes, in short."""
        from shapewright.checking.tried import Tried
        from shapewright.runtime.processes.forks import Children

        requests = list(zip(many, gone, strict=True))
        self.children.seconds = self.allowed
        if self.children.late >= MOST_LATE:
            return [Tried() for _ in requests]
        if not apart:
            return [each or Tried() for each in self.children.each(requests)]
        with Children(self.tried, self.allowed, len(many)) as fresh:
            made = [each or Tried() for each in fresh.each(requests)]
        self.children.late += fresh.late
        return made

    def tried(self, request: tuple[Overlay, Place]) -> Tried:
        """What one run came to."""
        from shapewright.checking.tried import in_short

        texts, gone = request
        return in_short(self.changed(texts, gone), gone)


def processors() -> int:
    """Children that work side by side."""
    return min(4, os.cpu_count() or 1)
