"""A run at other sizes, in short."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Literal

from shapewright.findings.finding import Finding
from shapewright.reasoning.endings import telling
from shapewright.reasoning.explaining import explained_with
from shapewright.reasoning.program import Program
from shapewright.source.span import Span
from shapewright.trace.module import leaves

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
    told = telling.told(program, finding)
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
