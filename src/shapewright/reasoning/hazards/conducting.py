"""All hazards of a run, without those that the user switched off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from shapewright.findings.finding import Finding
from shapewright.reasoning.explaining import pattern
from shapewright.reasoning.hazards.ignoring import ignored_here
from shapewright.reasoning.hazards.registry import KINDS, Kind
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.program import Program
from shapewright.source.span import Span

STRICT = frozenset({"implicit-broadcast"})
"""Kinds that are told only where they are asked for: `check --strict`."""


def hazards(
    program: Program, ignored: Collection[str] = (), strict: bool = False
) -> list[Finding]:
    """Findings of every kind, one for all equal blocks of a loop, in their order.

    `ignored` are codes that are switched off.
    """
    import shapewright.reasoning.hazards.all  # noqa: F401

    scene = Scene(program)
    unsure = behind_failures(program)
    found: dict[tuple[object, ...], Finding] = {}
    kinds: dict[tuple[object, ...], str] = {}  # which kind said it first
    for code, find in KINDS.items():
        if code in ignored or (code in STRICT and not strict):
            continue
        for finding in looked_for(code, find, scene):
            if finding.code in ignored or ignored_here(program, finding):
                continue
            if finding.span in unsure and finding.code not in CERTAIN:
                continue
            key = finding.code, finding.span, pattern(finding.module)
            old = found.get(key)
            if old is None:
                found[key] = finding
            elif kinds[key] == code:
                found[key] = replace(old, count=old.count + 1)
            kinds.setdefault(key, code)
    return sorted(found.values(), key=place)


CERTAIN = frozenset({"cpu-tensor"})
"""Kinds that do not depend on the shapes of what comes in."""


def behind_failures(program: Program) -> set[Span]:
    """The places of calls on what came of a call that torch refused.

    The run supposed its shape there; once the error is mended they are looked at.
    """
    failed = {failure.op for failure in program.failures}
    supposed: set[int] = set()
    found: set[Span] = set()
    for index, op in enumerate(program.trace.ops if failed else ()):
        behind = any(fact.tensor in supposed for fact in op.inputs)
        if behind and op.span is not None:
            found.add(op.span)
        if behind or index in failed:
            supposed |= {fact.tensor for fact in op.outputs}
    return found


def looked_for(code: str, find: Kind, scene: Scene) -> list[Finding]:
    """What one kind finds. A mistake of our own is told, and stops nothing else."""
    try:
        return list(find(scene))
    except Exception as error:  # ours, not the program's
        said = f"{type(error).__name__}: {error}"
        message = f"hazards of the kind `{code}` could not be looked for ({said})"
        return [Finding(code, "note", message)]


def place(finding: Finding) -> tuple[str, int, int]:
    """Where a finding stands, for their order."""
    span = finding.span
    return (span.file, span.line, span.column) if span is not None else ("", 0, 0)
