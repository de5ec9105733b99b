"""The finding of a run as one of its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shapewright.findings.finding import Finding, Related, Severity
from shapewright.reasoning.edges.free import Free
from shapewright.reasoning.edges.seen import Shape, Step

Place = tuple[Step, str]
"""The call where two runs part, and what is to be said of it."""


def at_sizes(
    finding: Finding,
    severity: Severity,
    sizes: Sequence[tuple[Free, int]],
    training: bool | None,
    joined: str = " and ",
) -> Finding:
    """A finding with the sizes at which it comes.

    Example: "at batch 1 in training, `bn` needs more than one value per channel".
    """
    where = joined.join(free.at(size) for free, size in sizes)
    message = f"{where}{in_mode(training)}, {finding.message}"
    letters = ", ".join(f"{free.letter}={size}" for free, size in sizes)
    if not where:
        message = f"{in_mode(training).strip()}, {finding.message}"
    else:
        message = f"at {message}"
    return replace(finding, severity=severity, message=message, sizes=letters, fixes=())


def in_mode(training: bool | None) -> str:
    """` in training`."""
    if training is None:
        return ""
    return " in training" if training else " in evaluation"


def listed(free: Free, sizes: Sequence[int]) -> str:
    """`batch 2, 3 and 8`."""
    first = free.at(sizes[0])
    rest = [str(size) for size in sizes[1:]]
    if not rest:
        return first
    return ", ".join([first, *rest[:-1]]) + f" and {rest[-1]}"


def text(shape: Shape) -> str:
    """`(10,)`."""
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def first_other(one: Sequence[Step], other: Sequence[Step]) -> Place | None:
    """The first call that gives fewer or more dims in one run than in another."""
    for mine, theirs in zip(one, other, strict=False):
        if (mine.name, mine.place) != (theirs.name, theirs.place):
            return None
        for a, b in zip(mine.shapes, theirs.shapes, strict=False):
            if len(a) != len(b):
                return mine, f"it gives {text(a)} here, and {text(b)} otherwise"
    return None


def placed(finding: Finding, place: Place | None) -> Finding:
    """A finding at the call where two runs part."""
    if place is None or place[0].place is None:
        return finding
    step, said = place
    assert step.place is not None
    related = (Related(step.place, said),)
    return replace(finding, span=step.place, module=step.module, related=related)
