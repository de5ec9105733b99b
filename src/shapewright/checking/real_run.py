"""The call of torch's that ended a real run, explained as `check` does."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from shapewright.checking import tried
from shapewright.checking.met import SECONDS, Met, met_again, program_of
from shapewright.checking.session import Session, Told
from shapewright.checking.tried import LOAD, Overlay, Tried, in_short
from shapewright.checking.tried import Place as Line
from shapewright.findings.finding import Finding
from shapewright.findings.fix import Fix
from shapewright.reasoning import state_dicts
from shapewright.reasoning.explaining import of_failure
from shapewright.reasoning.fixes.candidates import candidates
from shapewright.reasoning.fixes.option import Option, options
from shapewright.reasoning.naming import tensor_names
from shapewright.reasoning.program import Program, shape_text
from shapewright.rules.needs.failure import Failure
from shapewright.source.span import Span
from shapewright.trace.record import Trace
from shapewright.tracing import nothing

if TYPE_CHECKING:
    from shapewright.runtime.real_errors.second_run import Load, Place


def explained(error: BaseException) -> tuple[Finding, Trace] | None:
    """What can be said of an error, and the record to show it from; None for nothing.

    It is said of calls of torch's functions, methods, operators and layers, and of
    `load_state_dict`. Nothing of the run is changed.
    """
    from shapewright.runtime.real_errors.second_run import load_of, place_of
    from shapewright.runtime.real_errors.tracebacks import is_explainable, stack_of

    stack = stack_of(error.__traceback__) if is_explainable(error) else None
    if stack is None:
        return None
    place = place_of(stack)
    load = load_of(stack, error)
    if load is not None:
        return of_load(place, load)
    met = met_again(place, error)
    if met is None:
        return None
    finding = finding_of(met) if met.program.failures else of_devices(met)
    return finding, met.program.trace


def finding_of(met: Met) -> Finding:
    """The failure in the program's words, with the fixes that were tried."""
    program, failure = met.program, met.failure
    finding = of_failure(program, failure)
    session = Session(program, attempt=partial(attempts, met))
    told = Told(finding, tried.place_of(program, failure))
    session.tries(program, told, likely(met))
    finding = session.shown(told)
    alike = {(fix.message, fix.edits[0].span.line): fix for fix in finding.fixes}
    return replace(
        finding,
        fixes=tuple(alike.values()),
        span=met.again.told,
        module=finding.module or module_of(met),
        torch_message="",  # the exception says it
        lines=(*finding.lines, *operands(program, failure, finding)),
    )


def likely(met: Met) -> list[Option]:
    """Fixes to try: not another number, or another order where none is missed. Many
    make a single call run."""
    missed = met.failure.unmet is None or met.failure.unmet.code == "missing-transpose"
    found = []
    for option in candidates(met.program, met.failure):
        if option.kind in FAR:
            if not (missed and ORDER.search(option.fix.message)):
                continue
        elif is_guess(met, option.fix):
            continue
        if can_be_tried(met, option.fix):
            found.append(option)
    return found


FAR = frozenset({"number", "swapped", "argument", "source", "larger?", "order?"})
"""Kinds of changes that a single call says too little about."""
ORDER = re.compile(r"\.(transpose|permute)\(")


def is_guess(met: Met, fix: Fix) -> bool:
    """Whether a fix only puts another number into the expression, where no dim is
    meant, or leaves the call away."""
    at, first = met.again.at, fix.edits[0]
    if not all(holds(at, edit.span) for edit in fix.edits):
        return False
    ends = first.span.end_line, first.span.end_column
    if not first.text and ends == (at.end_line, at.end_column):
        return True
    number = all(edit.text.lstrip("-").isdecimal() for edit in fix.edits)
    return number and met.failure.error != "IndexError"


def module_of(met: Met) -> str:
    """The path of the module whose method failed."""
    return met.place.owner.path_of(met.place.stack.here.first) or ""


def of_devices(met: Met) -> Finding:
    """Tensors of several devices."""
    finding = met.program.trace.findings[0]
    return replace(
        finding, span=met.again.told, module=module_of(met), torch_message=""
    )


MOST = 6
"""Operands that are shown."""


def operands(program: Program, failure: Failure, finding: Finding) -> list[str]:
    """The operands of the call that the finding does not tell of; weights of a layer
    are left out."""
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    said = " ".join([finding.message, *finding.lines])
    found = []
    for name, fact in list(zip(tensor_names(program, op), op.inputs, strict=True)):
        own = layer is not None and fact.tensor in program.states
        shape = shape_text(fact)
        told = any(each in said for each in (f"{name} {shape}", f"{name} is {shape}"))
        told = told or any(line.endswith(f"  {name}") for line in finding.lines)
        if name != "a tensor" and not (own or told):
            found.append(f"{name} is {fact}")
    return list(dict.fromkeys(found))[:MOST]


def can_be_tried(met: Met, fix: Fix) -> bool:
    """Whether a fix changes the expression, or how a layer is constructed."""
    places = [built.span for built in met.program.built.values()]
    if met.again.text is not None:
        places.append(met.again.at)
    return all(any(holds(place, edit.span) for place in places) for edit in fix.edits)


def holds(outer: Span, inner: Span) -> bool:
    """Whether a span lies within another."""
    return (
        outer.file == inner.file
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )


def attempts(
    met: Met, many: Sequence[Overlay], gone: Sequence[Line], alone: bool
) -> list[Tried]:
    """The call with each of these texts, as `Session` asks."""
    runs = [partial(attempt, met, *each) for each in zip(many, gone, strict=True)]
    if not met.every:
        return [run() for run in runs]
    from shapewright.runtime.real_errors.second_run import apart

    return [each or Tried() for each in apart(runs, SECONDS)]


def attempt(met: Met, texts: Overlay, gone: Line) -> Tried:
    """The call with one changed text."""
    from shapewright.runtime.real_errors.layer_owners import rebuilt
    from shapewright.source.expressions import Text

    again = met.again
    layers = rebuilt(met.place.owner, met.program.built, texts)
    new = texts.get(os.path.abspath(again.file))
    text = None if new is None or again.text is None else Text(again.file, new)
    run = again.run(text, met.every, quick=True, layers=layers)
    program = program_of(met.place, run)
    return Tried() if program is None else in_short(program, gone)


def of_load(place: Place, load: Load) -> tuple[Finding, Trace] | None:
    """What explains a state dict that does not fit."""
    from shapewright.engine.call_sites import source_of
    from shapewright.runtime.real_errors.layer_owners import relative

    span = relative(place.span)
    finding = state_dicts.explained_load(span, load.refused)
    source = source_of(place.stack.here.file)
    if source is not None:
        source = replace(source, file=span.file)
    trace = nothing("", finding, source)
    program = Program(trace, loads=[(span, load.refused)])
    session = Session(program, attempt=partial(loads, place, load))
    told = Told(finding, (span.file, span.line, LOAD))
    fixes = state_dicts.fixes(program, span, load.refused)
    session.tries(program, told, list(options("load", 1.0, fixes)))
    return replace(session.shown(told), torch_message=""), trace


def loads(
    place: Place,
    load: Load,
    many: Sequence[Overlay],
    gone: Sequence[Line],
    alone: bool,
) -> list[Tried]:
    """Whether the state dict fits as each of these texts has it."""
    return [Tried(complete=load.fits(place, dict(texts))) for texts in many]
