"""Threads of the program: torch's modes are per thread, so ours is entered in each.

Otherwise a thread would run real kernels on the user's own weights.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, get_ident
from typing import TYPE_CHECKING, Any, NoReturn

from shapewright.engine.replacement import copy_attributes

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


@contextmanager
def follow_threads(engine: Engine) -> Iterator[None]:
    """Answer torch calls in threads started during the run like the run's own calls.

    A thread that outlives the run is ended at its next call of torch, since its
    tensors have no data.
    """
    original = Thread.start

    def start(thread: Thread) -> None:
        if get_ident() in engine.threads:
            inner: Any = thread
            inner._bootstrap_inner = _wrap_bootstrap(engine, inner._bootstrap_inner)
            inner._invoke_excepthook = _wrap_exception_hook(
                engine, inner._invoke_excepthook
            )
        original(thread)

    Thread.start = copy_attributes(start, original)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Thread.start = original  # type: ignore[method-assign]
        engine.close(_Over())


def _wrap_bootstrap(engine: Engine, bootstrap: Any) -> Any:
    """Wrap the bootstrap function of a thread so that it runs in the run's mode."""

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
    """Raised to end a thread that outlives its run."""


def _wrap_exception_hook(engine: Engine, report: Any) -> Any:
    """Wrap a thread's exception hook so that it ignores our own exceptions."""
    from shapewright.engine.engine import NeedsGraph

    def invoke(thread: Thread) -> None:
        if isinstance(sys.exception(), NeedsGraph):
            engine.ask_for_graph()
        elif not isinstance(sys.exception(), _RunIsOver):
            report(thread)

    return invoke


class _Over(dict[Any, Any]):
    """The plans after the end of a run, with which every call ends its thread."""

    def get(self, key: Any, default: Any = None) -> Any:
        return _end_thread


def _end_thread(*_: Any) -> NoReturn:
    """End the thread."""
    raise _RunIsOver("the trace that this thread belonged to is over")
