"""Which definitions of a file a run went through."""

from __future__ import annotations

from collections.abc import Iterable

from shapewright.source.targets import Runnable
from shapewright.trace.record import Trace


def ran(trace: Trace, file: str, runnable: Runnable) -> bool:
    """Whether a run called the forward of a class, or came through a function."""
    if runnable.kind == "class":
        return any(call.class_name == runnable.name for call in trace.calls)
    if runnable.kind != "function":
        return False
    return any(
        frame.span.file == file and runnable.first <= frame.span.line <= runnable.last
        for op in trace.ops
        for frame in op.frames
    )


def only_defines(trace: Trace, file: str, runnables: Iterable[Runnable]) -> bool:
    """Whether a script that ran made no call of a module or a tensor function.

    What it builds, and constants at its top level, are definitions too. One that was
    ended by an error or for its time does not count, one that called `sys.exit` does.
    """
    if not trace.complete and not has_exited(trace):
        return False
    if any(call.parent is not None for call in trace.calls):
        return False
    return not any(ran(trace, file, each) for each in runnables)


def has_exited(trace: Trace) -> bool:
    """Whether the program called `sys.exit`, as argparse does."""
    return not trace.complete and any(
        finding.code == "program-exit" for finding in trace.findings[-1:]
    )
