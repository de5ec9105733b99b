"""What there is to say of a program that took the run of it with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapewright.faces.cli.apart import Ended
    from shapewright.findings.finding import Finding
    from shapewright.source.span import Span
    from shapewright.trace.record import Source, Trace


def trace_of_ended(target: str, child: Ended, timeout: float | None) -> Trace:
    """The trace of a program whose process ended, with a finding that says how."""
    return trace_of(target, finding_of_ended(child, timeout))


def finding_of_ended(
    child: Ended, timeout: float | None, seen: str = "", span: Span | None = None
) -> Finding:
    """How the process ended; `seen` says where the program was seen last."""
    from shapewright.findings.finding import Finding

    code, message = "program-exit", str(child)
    if timeout is not None and child.code >= 0 and child.seconds >= timeout:
        code = "timeout"
        message = f"stopped after {timeout:g} s, the time allowed by `--timeout`"
    return Finding(code, "error", message + seen, span)


def trace_of(
    target: str, finding: Finding, sources: Mapping[str, Source] | None = None
) -> Trace:
    """A trace of no call, which was not completed, with a finding."""
    from shapewright.trace.record import Trace

    return Trace(
        target=target, ops=(), calls=(), states=(), output=None,
        findings=(finding,), complete=False, sources=dict(sources or {}),
    )  # fmt: skip
