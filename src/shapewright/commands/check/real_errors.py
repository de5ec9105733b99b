"""Reproduce, without data, the torch call that ended a real run, and explain it as
`check` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from shapewright.analysis import state_dicts
from shapewright.analysis.explanations import explain_failure
from shapewright.analysis.fixes import find_fixes
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.program_run import Program, fill_lazy_parts, format_shape
from shapewright.analysis.provenance.call_expressions import find_tensor_names
from shapewright.commands.check.fixes import LOAD, Overlay, Tried, summarise_run
from shapewright.commands.check.fixes import Place as Line
from shapewright.commands.check.fixes import get_place as place_of_failure
from shapewright.commands.check.new_findings import Reported
from shapewright.commands.check.session import Session
from shapewright.commands.trace import build_empty_trace
from shapewright.findings.codes import (
    DTYPE_MISMATCH,
    INDEX_OUT_OF_RANGE,
    MISSING_TRANSPOSE,
    MIXED_DEVICES,
)
from shapewright.findings.finding import Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span
from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from shapewright.runtime.real_errors.second_run import (
        Again,
        FailedPlace,
        Load,
        SecondRun,
    )


SECONDS = 10.0
"""A child that answers nothing for so long is ended: it runs the program's own code."""
OF_DTYPES = re.compile(r"type|half|float|double|long|int|bool|char|byte|complex", re.I)
"""What torch says, one or the other, where it refuses a dtype."""
OF_VALUES = re.compile(r"out of (range|bound)|index|smaller than|negative", re.I)
"""The same where it refuses the value of an index."""


@dataclass(frozen=True, slots=True)
class _Met:
    """The reproduced failure of the real run. `every`: in a child process, with the
    program's own code.
    """

    place: FailedPlace
    again: Again
    program: Program
    every: bool = False

    @property
    def failure(self) -> Failure:
        """Return the failed call."""
        return self.program.failures[0]


def _reproduce_failure(place: FailedPlace, error: BaseException) -> _Met | None:
    """Reproduce the failure in several ways; return the first that fails as the real
    run did.
    """
    from shapewright.runtime.real_errors.second_run import (
        can_fork,
        iter_layer_calls,
        iter_own_expressions,
        iter_torch_lines,
        run_apart,
    )
    from shapewright.runtime.real_errors.tracebacks import can_be_of_torch

    own = list(iter_own_expressions(place))
    needs_own = False
    for again in (*own, *iter_layer_calls(place), *iter_torch_lines(place)):
        run = again.run(quick=True)
        needs_own = needs_own or (run.own and again in own)
        program = _build_program(place, run)
        if program is not None and _is_same(program, again.at, error):
            return _Met(place, again, _with_repairs(place, again, program))
    needs_own = needs_own and can_be_of_torch(error) and can_fork()
    for again in own if needs_own else ():
        (program,) = run_apart([partial(_run_apart, place, again)], SECONDS)
        if program is not None and _is_same(program, again.at, error, sizes=True):
            return _Met(place, again, program, True)
    return None


def _with_repairs(place: FailedPlace, again: Again, program: Program) -> Program:
    """Run the call once more, searching for all of its repairs.

    That is hundreds of tries: of what makes many calls itself, too long to wait for.
    """
    many = len(program.trace.ops) > FEW or any(
        op.name == MANY for op in program.trace.ops
    )
    if many or not program.failures:
        return program
    whole = _build_program(place, again.run())
    return whole if whole is not None and whole.failures else program


FEW = 8
"""Calls of torch in one that is tried hundreds of times."""
MANY = "F.multi_head_attention_forward"
"""One call for the program, some thirty for torch."""


def _run_apart(place: FailedPlace, again: Again) -> Program | None:
    """Run with the program's own code, and return the program in a form that can be
    sent.
    """
    program = _build_program(place, again.run(every=True))
    return None if program is None else fill_lazy_parts(program)


def _build_program(place: FailedPlace, run: SecondRun) -> Program | None:
    """Return the program to analyse: a run, and the places where its layers were
    constructed.
    """
    trace = run.trace
    if trace is None:
        return None
    paths = {call.path for call in trace.calls}
    if run.failures:
        states = Program(trace).states
        facts = trace.ops[run.failures[0].op].inputs
        owners = [states.get(fact.tensor, "").rpartition(".") for fact in facts]
        paths |= {path for path, dot, _ in owners if dot}
    built = place.owner.built(sorted(paths))
    return Program(trace, run.failures, built, place.owner.sources())


def _is_same(
    program: Program, at: Span, error: BaseException, sizes: bool = False
) -> bool:
    """Return whether the first failure of a run is that of the real run.

    It stands at the same place; what it is about is what torch spoke of. With `sizes`,
    or where sizes may rest on values that were drawn anew, torch's words have the same
    numbers.
    """
    message = str(error)
    if not program.failures:
        findings = program.trace.findings[:1]
        return (
            any(finding.code == DEVICES for finding in findings) and "device" in message
        )
    failure = program.failures[0]
    span = program.trace.ops[failure.op].span
    if span != at and not _is_line_of(span, at):
        return False
    finding = explain_failure(program, failure)
    drawn = any(DRAWS.search(op.name) for op in program.trace.ops)
    sizes = sizes or drawn or bool(program.trace.assumptions)
    if sizes and _parse_numbers(failure.torch_message) != _parse_numbers(message):
        return False
    if finding.code == DTYPE_MISMATCH and not OF_DTYPES.search(message):
        return False
    if failure.unmet is not None:
        return True
    if finding.code == INDEX_OUT_OF_RANGE and not OF_VALUES.search(message):
        return False
    return bool(failure.repairs) and type(error).__name__ == failure.error


DRAWS = re.compile(r"rand|item|tolist|nonzero|unique|multinomial|masked_select|sample")
"""Operators whose answer may decide a size, and be another a second time."""


def _is_line_of(span: Span | None, at: Span) -> bool:
    """Return whether a span is on the line of a place, where Python keeps no
    columns.
    """
    if span is None or (span.column, span.end_column) != (1, 1):
        return False
    return span.file == at.file and at.line <= span.line <= at.end_line


DEVICES = MIXED_DEVICES


def _parse_numbers(text: str) -> list[str]:
    """Return the numbers in a text."""
    return sorted(re.findall(r"\d+", text))


def explain_error(error: BaseException) -> tuple[Finding, Trace] | None:
    """Explain an error; return the finding and the trace to show it with, or None.

    It is said of calls of torch's functions, methods, operators and layers, and of
    `load_state_dict`. Nothing of the run is changed.
    """
    from shapewright.runtime.real_errors.second_run import find_load, find_place
    from shapewright.runtime.real_errors.tracebacks import collect_stack, is_explainable

    stack = collect_stack(error.__traceback__) if is_explainable(error) else None
    if stack is None:
        return None
    place = find_place(stack)
    load = find_load(stack, error)
    if load is not None:
        return _explain_load(place, load)
    met = _reproduce_failure(place, error)
    if met is None:
        return None
    finding = _build_finding(met) if met.program.failures else _report_devices(met)
    return finding, met.program.trace


def _build_finding(met: _Met) -> Finding:
    """Return the finding on a failure, in the program's words, with the fixes that were
    tried.
    """
    program, failure = met.program, met.failure
    finding = explain_failure(program, failure)
    session = Session(program, attempt=partial(_try_texts, met))
    reported = Reported(finding, place_of_failure(program, failure))
    session.try_fixes(program, reported, _find_likely_fixes(met))
    finding = session.shown(reported)
    alike = {(fix.message, fix.edits[0].span.line): fix for fix in finding.fixes}
    return replace(
        finding,
        fixes=tuple(alike.values()),
        span=met.again.told,
        module=finding.module or _get_module(met),
        torch_message="",  # the exception says it
        lines=(*finding.lines, *_find_operands(program, failure, finding)),
    )


def _find_likely_fixes(met: _Met) -> list[FixOption]:
    """Return the fixes to try: no other numbers, and no other order unless an order is
    missing. Many fixes make a single call run.
    """
    missed = met.failure.unmet is None or met.failure.unmet.code == MISSING_TRANSPOSE
    options = []
    for option in find_fixes(met.program, met.failure):
        if option.kind in FAR:
            if not (missed and ORDER.search(option.fix.message)):
                continue
        elif _is_guess(met, option.fix):
            continue
        if _can_be_tried(met, option.fix):
            options.append(option)
    return options


FAR = frozenset({"number", "swapped", "argument", "source", "larger?", "order?"})
"""Kinds of changes that a single call says too little about."""
ORDER = re.compile(r"\.(transpose|permute)\(")


def _is_guess(met: _Met, fix: Fix) -> bool:
    """Return whether a fix only replaces a number in the expression that is not a dim,
    or drops the call.
    """
    at, first = met.again.at, fix.edits[0]
    if not all(_has_inside(at, edit.span) for edit in fix.edits):
        return False
    ends = first.span.end_line, first.span.end_column
    if not first.text and ends == (at.end_line, at.end_column):
        return True
    number = all(edit.text.lstrip("-").isdecimal() for edit in fix.edits)
    return number and met.failure.error != "IndexError"


def _get_module(met: _Met) -> str:
    """Return the path of the module whose method failed."""
    return met.place.owner.path_of(met.place.stack.here.first) or ""


def _report_devices(met: _Met) -> Finding:
    """Return the finding for tensors on several devices."""
    finding = met.program.trace.findings[0]
    return replace(
        finding, span=met.again.told, module=_get_module(met), torch_message=""
    )


MOST = 6
"""Operands that are shown."""


def _find_operands(program: Program, failure: Failure, finding: Finding) -> list[str]:
    """Return the operands that the finding does not mention, except the weights of a
    layer.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    text = " ".join([finding.message, *finding.lines])
    operands = []
    for name, fact in list(zip(find_tensor_names(program, op), op.inputs, strict=True)):
        own = layer is not None and fact.tensor in program.states
        shape = format_shape(fact)
        is_mentioned = any(
            mention in text for mention in (f"{name} {shape}", f"{name} is {shape}")
        )
        is_mentioned = is_mentioned or any(
            line.endswith(f"  {name}") for line in finding.lines
        )
        if name != "a tensor" and not (own or is_mentioned):
            operands.append(f"{name} is {fact}")
    return list(dict.fromkeys(operands))[:MOST]


def _can_be_tried(met: _Met, fix: Fix) -> bool:
    """Return whether a fix changes the expression, or how a layer is constructed."""
    places = [built.span for built in met.program.built.values()]
    if met.again.text is not None:
        places.append(met.again.at)
    return all(
        any(_has_inside(place, edit.span) for place in places) for edit in fix.edits
    )


def _has_inside(outer: Span, inner: Span) -> bool:
    """Return whether a span lies within another."""
    return (
        outer.file == inner.file
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )


def _try_texts(
    met: _Met, many: Sequence[Overlay], gone: Sequence[Line], alone: bool
) -> list[Tried]:
    """Run the call with each of these texts, as `Session` requires."""
    runs = [
        partial(_try_text, met, *request) for request in zip(many, gone, strict=True)
    ]
    if not met.every:
        return [run() for run in runs]
    from shapewright.runtime.real_errors.second_run import run_apart

    return [outcome or Tried() for outcome in run_apart(runs, SECONDS)]


def _try_text(met: _Met, texts: Overlay, gone: Line) -> Tried:
    """Run the call with one changed text."""
    from shapewright.program.source_text import SourceText
    from shapewright.runtime.real_errors.layer_owners import rebuild_layers

    again = met.again
    layers = rebuild_layers(met.place.owner, met.program.built, texts)
    new = texts.get(os.path.abspath(again.file))
    text = None if new is None or again.text is None else SourceText(again.file, new)
    run = again.run(text, met.every, quick=True, layers=layers)
    program = _build_program(met.place, run)
    return Tried() if program is None else summarise_run(program, gone)


def _explain_load(place: FailedPlace, load: Load) -> tuple[Finding, Trace] | None:
    """Explain a state dict that does not fit."""
    from shapewright.engine.call_sites import get_source
    from shapewright.runtime.real_errors.layer_owners import make_relative

    span = make_relative(place.span)
    finding = state_dicts.explain_load(span, load.refused)
    source = get_source(place.stack.here.file)
    if source is not None:
        source = replace(source, file=span.file)
    trace = build_empty_trace("", finding, source)
    program = Program(trace, loads=[(span, load.refused)])
    session = Session(program, attempt=partial(_try_loads, place, load))
    reported = Reported(finding, (span.file, span.line, LOAD))
    fixes = state_dicts.suggest_fixes(program, span, load.refused)
    session.try_fixes(program, reported, list(iter_options("load", 1.0, fixes)))
    return replace(session.shown(reported), torch_message=""), trace


def _try_loads(
    place: FailedPlace,
    load: Load,
    many: Sequence[Overlay],
    gone: Sequence[Line],
    alone: bool,
) -> list[Tried]:
    """Try to load the state dict with each of these texts."""
    return [Tried(complete=load.fits(place, dict(texts))) for texts in many]
