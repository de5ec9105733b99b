"""A run with changed text, in short."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shapewright.reasoning.hazards.conducting import hazards
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.trace.module import leaves

Overlay = Mapping[str, str]
"""Texts that stand for files, by absolute path."""
Place = tuple[str, int, str]
"""Where something failed: file, line, and the call or the code of the finding."""

LOAD = "state-dict-mismatch"


@dataclass(frozen=True, slots=True)
class Tried:
    """What a run came to. `ops` is how far it came, `output` the shapes it returned."""

    failures: tuple[Place, ...] = ()
    complete: bool = False
    ops: int = 0
    output: tuple[tuple[int, ...], ...] = ()
    warnings: tuple[Place, ...] = ()


def in_short(program: Program, gone: Place) -> Tried:
    """A run as it is compared with another one; what is likely wrong only if it can
    be a repair, of what failed at `gone`."""
    trace = program.trace
    failures = places(program)
    warnings: tuple[Place, ...] = ()
    if trace.complete and all(place[:2] != gone[:2] for place in failures):
        warnings = tuple(
            (each.span.file, each.span.line, each.code)
            for each in hazards(program)
            if each.span is not None and each.severity == "warning"
        )
    return Tried(failures, trace.complete, len(trace.ops), output_of(program), warnings)


def output_of(program: Program) -> tuple[tuple[int, ...], ...]:
    """The shapes of what the program returned."""
    return tuple(fact.shape for fact in leaves(program.trace.output))


def places(program: Program) -> tuple[Place, ...]:
    """Where calls failed, in order, and where else the program did."""
    found = [(span.file, span.line, LOAD) for span, _ in program.loads]
    found += [place_of(program, failure) for failure in program.failures]
    lines = {place[:2] for place in found}
    for each in program.trace.findings:
        line = (each.span.file, each.span.line) if each.span else ("", 0)
        if each.severity == "error" and line not in lines:
            found.append((*line, each.code))
    return tuple(found)


def place_of(program: Program, failure: Failure) -> Place:
    """Where a call failed; a call is a layer by its name, or as it is written."""
    op = program.trace.ops[failure.op]
    if op.span is None:
        return ("", 0, op.name)
    layer, found = program.layer(op), program.node(op.span)
    if layer is not None:
        call = own_name(layer.path)
    else:
        call = found[0].written(found[1]) if found is not None else op.name
    return (op.span.file, op.span.line, call)


def own_name(path: str) -> str:
    """`conv` of `layers.3.conv`, `net.2` of `blocks.0.net.2`."""
    parts = path.split(".")
    names = [at for at, part in enumerate(parts) if not part.isdigit()]
    return ".".join(parts[names[-1] :]) if names else path


def is_at(place: Place, other: Place, crowded: Collection[tuple[str, int]]) -> bool:
    """Whether two failures are one: on a line, or on a crowded one in the same call."""
    return place == other if other[:2] in crowded else place[:2] == other[:2]
