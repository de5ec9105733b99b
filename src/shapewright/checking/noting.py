"""`with sw.explaining():` an error of a real run gains its explanation as a note.

Nothing is looked at, and nothing imported, until an error leaves the block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import wraps
from inspect import CO_COROUTINE
from types import TracebackType
from typing import Any

CAUSES = 4
"""Errors of a chain of `raise ... from ...` that are looked at."""


class Explaining(ContextDecorator):
    """The context manager of `shapewright.explaining`; a decorator too."""

    __slots__ = ()

    def __enter__(self) -> Explaining:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            note(error)

    def __call__(self, function: Callable[..., Any]) -> Any:
        """A function that runs in the block; a coroutine until its end."""
        code = getattr(function, "__code__", None)  # a layer has none
        if code is None or not code.co_flags & CO_COROUTINE:
            return super().__call__(function)

        @wraps(function)
        async def inner(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await function(*args, **kwargs)

        return inner


def note(error: BaseException) -> None:
    """Add the explanation to an error of torch's, or to that which it came from."""
    each: BaseException | None = error
    for _ in range(CAUSES):
        if not isinstance(each, Exception) or "torch" not in sys.modules:
            return
        if is_noted(each):
            return
        text = text_of(each)
        if text:
            each.add_note(text)
            return
        each = each.__cause__


def is_noted(error: Exception) -> bool:
    """Whether it has its explanation already."""
    notes = getattr(error, "__notes__", ())
    return any(isinstance(one, str) and one.startswith(OURS) for one in notes)


OURS = ("error[", "shapewright: ")
"""What our notes begin with."""


def text_of(error: Exception) -> str:
    """The note, empty where nothing can be said; a fault of ours is one short line."""
    try:
        from shapewright.checking.real_run import explained
        from shapewright.views.terminal.report import note_text

        found = explained(error)
        return "" if found is None else note_text(*found, unicode=shows_unicode())
    except Exception as fault:
        said = " ".join(str(fault).split())
        return f"shapewright: not explained ({type(fault).__name__}: {said:.60})"


def shows_unicode() -> bool:
    """Whether stderr, where errors are printed, can show a line beside the source."""
    try:
        "│".encode(getattr(sys.stderr, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
