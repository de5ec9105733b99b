"""Threads that the program starts: torch's modes are per thread, so ours follows.

Without it a thread would run real kernels on the user's own weights.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, get_ident
from typing import TYPE_CHECKING, Any, NoReturn

from shapewright.engine.replacement import resemble

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


@contextmanager
def followed(engine: Engine) -> Iterator[None]:
    """Threads started during the run are answered as the run is.

    One that goes on after the run ends at its next call of torch: the tensors that it
    holds have no data.
    """
    original = Thread.start

    def start(thread: Thread) -> None:
        if get_ident() in engine.threads:
            inner: Any = thread
            inner._bootstrap_inner = _follow(engine, inner._bootstrap_inner)
            inner._invoke_excepthook = _quiet(engine, inner._invoke_excepthook)
        original(thread)

    Thread.start = resemble(start, original)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Thread.start = original  # type: ignore[method-assign]
        engine.close(_Over())


def _follow(engine: Engine, bootstrap: Any) -> Any:
    """What a thread runs, with the run's mode around it."""

    def inner() -> None:
        number = get_ident()
        engine.begin_thread(number)
        try:
            with engine:
                bootstrap()
        finally:
            engine.threads.discard(number)

    return inner


class _RunIsOver(SystemExit):
    """Ends a thread that goes on after its run; whoever catches it may say why."""


def _quiet(engine: Engine, report: Any) -> Any:
    """What a thread does with an exception: nothing, where it is ours."""
    from shapewright.engine.engine import NeedsGraph

    def invoke(thread: Thread) -> None:
        if isinstance(sys.exception(), NeedsGraph):
            engine.ask_for_graph()
        elif not isinstance(sys.exception(), _RunIsOver):
            report(thread)

    return invoke


class _Over(dict[Any, Any]):
    """The plans of a run that is over."""

    def get(self, key: Any, default: Any = None) -> Any:
        return _ended


def _ended(*_: Any) -> NoReturn:
    """Ends the thread."""
    raise _RunIsOver("the trace that this thread belonged to is over")
