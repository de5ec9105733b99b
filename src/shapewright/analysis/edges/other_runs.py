"""Runs at other sizes: asked for once each within a budget, summarised, and turned into
a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shapewright.analysis import python_errors
from shapewright.analysis.edges.free_dims import Free
from shapewright.analysis.explanations import explained_with
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Finding, Related, Severity
from shapewright.program.spans import Span
from shapewright.record.ops import leaves

Shape = tuple[int, ...]
State = Literal["runs", "fails", "refuses", "unsure"]
"""refuses: the program itself states that it does not take the size. unsure: nothing
can be said of it."""
OF_VALUES = frozenset({"ctc-lengths", "packed-lengths", "bag-offsets"})
"""Codes that depend on what inputs hold, which was made for the given sizes."""
OF_PYTHON = ("IndexError", "ZeroDivisionError")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a run: where it stands, and the shapes that it gave."""

    name: str
    module: str
    place: Span | None
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run came to. `finding` tells why it fails; `steps` only if asked for."""

    state: State
    finding: Finding | None = None
    output: tuple[Shape, ...] = ()
    steps: tuple[Step, ...] = ()


UNSURE = Seen("unsure")


def seen(program: Program, whole: bool) -> Seen:
    """A run in short; with `whole` also what each call gave."""
    trace = program.trace
    passed = steps(program) if whole else ()
    finding = refused(program)
    if finding is not None:
        drawn = finding.code == "index-out-of-range" and len(trace.assumptions) > 0
        unsure = drawn or finding.code in OF_VALUES
        return Seen("unsure" if unsure else "fails", finding, (), passed)
    ended = next((each for each in trace.findings if each.severity == "error"), None)
    if ended is not None:
        return replace(ending(program, ended), steps=passed)
    if not trace.complete:
        return UNSURE
    return Seen("runs", None, tuple(f.shape for f in leaves(trace.output)), passed)


def refused(program: Program) -> Finding | None:
    """The first call that torch refused, explained."""
    found = explained_with(program) if program.failures else []
    return found[0][0] if found else None


def ending(program: Program, finding: Finding) -> Seen:
    """An error of the program's own Python: what it demands itself is no failure."""
    if finding.code != "program-error":
        return Seen("fails", finding) if finding.code == "torch-error" else UNSURE
    told = python_errors.explain_python_error(program, finding)
    if told.code == "size-check" or stated(program, finding):
        return Seen("refuses", told)
    python = finding.torch_message.startswith(OF_PYTHON)
    unpacks = "to unpack (expected" in finding.torch_message
    return Seen("fails" if unpacks or python else "refuses", told)


def stated(program: Program, finding: Finding) -> bool:
    """Whether an error is a `raise` or an `assert` of the program."""
    found = program.node(finding.span)
    if found is None:
        return False
    text, node = found
    kinds = ast.Raise | ast.Assert
    return isinstance(node, kinds) or any(
        text.around(node, kind) is not None for kind in (ast.Raise, ast.Assert)
    )


def steps(program: Program) -> tuple[Step, ...]:
    """What each call gave."""
    return tuple(
        Step(op.name, op.module, op.span, tuple(fact.shape for fact in op.outputs))
        for op in program.trace.ops
    )


RUNS = 24
"""Runs of one program at other sizes."""
FEWEST = 4
"""Runs of a program however large."""
OPS = 12_000
"""Calls of all these runs together, about."""


Look = Literal["", "steps", "cause"]


@dataclass(frozen=True, slots=True)
class Request:
    """A run to be made: new sizes of free dims, and the model's mode (None: as it is).

    `look` asks more of a run that was made: what each call gave ("steps"), or why it
    fails ("cause").
    """

    sizes: tuple[tuple[Free, int], ...] = ()
    training: bool | None = None
    look: Look = ""


@dataclass(slots=True)
class Runs:
    """The runs that were made, and how to make more."""

    make: Callable[[Sequence[Request]], Sequence[Seen | None]]
    left: int
    known: dict[Request, Seen] = field(default_factory=dict)

    def ask(self, requests: Sequence[Request]) -> None:
        """Make those that are not made yet, as far as the budget goes."""
        new = [each for each in dict.fromkeys(requests) if each not in self.known]
        if not any(each.look for each in new):
            new = new[: self.left]
            self.left -= len(new)
        for request, found in zip(new, self.make(new) if new else (), strict=True):
            self.known[request] = found or UNSURE

    def steps(self, requests: Sequence[Request]) -> list[tuple[Step, ...]]:
        """What each call gave in some runs."""
        asked = [replace(each, look="steps") for each in requests]
        self.ask(asked)
        return [self.at(each).steps for each in asked]

    def cause(self, request: Request) -> Finding | None:
        """Why a run fails; None where that depends on what only the data tells."""
        asked = replace(request, look="cause")
        self.ask([asked])
        seen = self.at(asked)
        return seen.finding if seen.state == "fails" else None

    def at(self, request: Request) -> Seen:
        """A run; `UNSURE` where it was not made."""
        return self.known.get(request, UNSURE)


def budget(ops: int) -> int:
    """How many runs a program of so many calls gets."""
    return max(FEWEST, min(RUNS, OPS // max(1, ops)))


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
