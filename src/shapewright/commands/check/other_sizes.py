"""Run a program again at other sizes: at sizes that the user did not give, and at
several sizes for letters without a size.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.analysis.edges import Make, find_edge_failures
from shapewright.analysis.edges.other_runs import Request, RunOutcome, summarise_run
from shapewright.analysis.formulas.call_formulas import Dims, cut_sample, fit_operands
from shapewright.analysis.hazards import is_ignored_here
from shapewright.analysis.independent_failures import explain_failures
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_names
from shapewright.findings.codes import LOST_BATCH, TIMEOUT, TORCH_ERROR
from shapewright.findings.faults import raise_in_tests
from shapewright.findings.finding import Finding
from shapewright.record.report import Report

if TYPE_CHECKING:
    from shapewright.commands.trace import Fed
    from shapewright.engine.recipes.recipe import Sample
    from shapewright.runtime.run_record import RunResult


def with_edges(
    report: Report,
    program: Program,
    took: Sequence[Fed],
    make: Make,
    ignored: Collection[str] = (),
) -> Report:
    """Add findings at other sizes to a report, if the report has no errors."""
    wrong = any(finding.severity == "error" for finding in report.findings)
    if not took or wrong or not report.complete or not _can_vary(took[0]):
        return report
    fed = took[0]
    edge_findings = [
        finding
        for finding in _find_edge_failures(program, make, fed)
        if finding.code not in ignored and not is_ignored_here(program, finding)
    ]
    if not edge_findings:
        return report
    kept = tuple(
        finding
        for finding in report.findings
        if not _is_superseded(finding, edge_findings)
    )
    return replace(report, findings=(*kept, *edge_findings))


def _find_edge_failures(program: Program, make: Make, fed: Fed) -> list[Finding]:
    """Find failures at other sizes; a bug in this check becomes a note."""
    letters = [leaf.letters for leaf in fed.spec.leaves] if fed.spec else []
    try:
        return find_edge_failures(program, make, letters)
    except Exception as error:  # ours: the findings of the given sizes are reported
        raise_in_tests(error)
        failure = f"{type(error).__name__}: {error}"
        message = f"other sizes could not be tried ({failure})"
        return [Finding(TORCH_ERROR, "note", message)]


def _is_superseded(finding: Finding, edge_findings: Sequence[Finding]) -> bool:
    """Return whether a run confirmed what a note only predicted."""
    if finding.code != LOST_BATCH or finding.severity != "note":
        return False
    lines = {
        (span.file, span.line)
        for edge_finding in edge_findings
        for span in (edge_finding.span, *(other.span for other in edge_finding.related))
        if span is not None
    }
    span = finding.span
    return span is not None and (span.file, span.line) in lines


def _can_vary(fed: Fed) -> bool:
    """Return whether a model got tensors whose sizes can be changed."""
    from shapewright.runtime.input_tensors import can_resize

    return fed.module is not None and can_resize((fed.args, fed.kwargs))


def build_runner(
    took: Sequence[Fed],
    as_program: Callable[[RunResult], Program],
    live: bool = False,
) -> Callable[[Request], RunOutcome]:
    """Return a function that runs the program at other sizes, one request at a time.

    With `live` the model is somebody's own: a `train` or `eval` of its own class, which
    may change weights, is not called.
    """
    from shapewright.engine.engine import EngineOptions, GoingOn
    from shapewright.engine.memo import Memo
    from shapewright.runtime.input_tensors import (
        has_own_mode,
        run_as_evaluated,
        set_mode,
    )
    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest

    memo = Memo()

    def run(request: Request) -> RunOutcome:
        outcome = once(request)
        if outcome.state == "refuses" and request.look != "cause":
            # torch's own Python raises too; what is its call, only this run tells.
            outcome = once(replace(request, look="cause"))
        return outcome

    def once(request: Request) -> RunOutcome:
        (fed,) = took
        arguments = _resize_arguments(fed, request)
        if arguments is None:
            return RunOutcome("unsure")
        why = request.look == "cause"
        going_on = GoingOn(most=1, quick=True) if why else None
        how = RunRequest(memo=memo, options=EngineOptions(going_on=going_on))
        mode = request.training
        if live and fed.module is not None and has_own_mode(fed.module):
            if mode not in (None, getattr(fed.module, "training", mode)):
                return RunOutcome("unsure")
            mode = None
        evaluated = run_as_evaluated(fed.module, mode)
        with fed.running(), set_mode(fed.module, mode), evaluated:
            result = record_run(fed.callable, *arguments, how)
            return summarise_run(as_program(result), request.look == "steps")

    return run


def _resize_arguments(
    fed: Fed, request: Request
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments at other sizes, or None if they cannot have these sizes."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import make_tensor, materialize_spec
    from shapewright.runtime.input_tensors import resize_arguments

    args, kwargs = fed.args, fed.kwargs
    letters = {free.letter: size for free, size in request.sizes if free.stated}
    if letters and fed.spec is not None:
        try:
            args, kwargs = materialize_spec(fed.spec.with_sizes(**letters), make_tensor)
        except InputError:
            return None
    places = {
        place: size
        for free, size in request.sizes
        if not free.stated
        for place in free.places
    }
    return resize_arguments(args, kwargs, places) if places else (args, kwargs)


FITTED, CHECKED = 16, 4
"""Runs at random sizes, to fit formulas and to check them."""

SPAN, STEP = 64, 32
"""How far sizes go beyond the usual ones, and in which step where only multiples do."""


def add_letter_lines(report: Report, program: Program, took: Sequence[Fed]) -> Report:
    """Add a line in letters below every finding whose call got sizes with letters.

    The program is run at other sizes for that; where they do not show a formula for
    every dim of a tensor, nothing is said of it.
    """
    spec = took[0].spec if took else None
    if spec is None or not spec.letters_free or not program.failures:
        return report
    calls = {
        (finding.code, finding.span): failures[0].op
        for finding, failures in explain_failures(program)
    }
    wanted = [(finding.code, finding.span) for finding in report.findings]
    if not any(key in calls for key in wanted):
        return report
    first, *others = _collect_samples(took[0], list(spec.letters_free))
    if first is None:
        return report
    findings = []
    for finding in report.findings:
        call = calls.get((finding.code, finding.span))
        line = "" if call is None else _format_letters(program, call, first, others)
        findings.append(
            replace(finding, lines=(*finding.lines, line)) if line else finding
        )
    return replace(report, findings=tuple(findings))


def _format_letters(
    program: Program, call: int, first: Sample, others: Sequence[Sample | None]
) -> str:
    """Return ``in letters: `x` is (B, 32*T)``, or an empty string."""
    op = program.trace.ops[call]
    shapes = [tuple(fact.shape) for fact in op.inputs]
    if call >= len(first.taken) or [*map(tuple, first.taken[call])] != shapes:
        return ""
    shown = cut_sample(first, call)
    fitted = [shown, *(other for other in others[CHECKED:] if other is not None)]
    checks = [other for other in others[:CHECKED] if other is not None]
    parts = []
    names = find_tensor_names(program, op)
    for name, fact, dims in zip(
        names, op.inputs, fit_operands(fitted, checks, call), strict=False
    ):
        if fact.tensor not in program.states and _has_letters(dims):
            shape = ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "")
            parts.append(f"{name} is ({shape})")
    return "in letters: " + ", ".join(dict.fromkeys(parts)) if parts else ""


def _has_letters(dims: Dims) -> bool:
    """Return whether every dim has a formula, and some depend on letters."""
    known = [dim for dim in dims if dim is not None]
    return len(known) == len(dims) and any(formula.letters() for formula in known)


def _collect_samples(fed: Fed, free: Sequence[str]) -> list[Sample | None]:
    """Return a sample per run, the first at usual sizes; None if a run shows none.

    Of one in which other calls fail than in the first, only what came before.
    """
    from shapewright.engine.engine import EngineOptions, GoingOn
    from shapewright.engine.memo import Memo
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import make_tensor, materialize_spec
    from shapewright.runtime.restore.snapshot import take_snapshot
    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest

    assert fed.spec is not None
    usual = {name: fed.spec.letters[name] for name in free}
    memo, taken = Memo(), take_snapshot(fed.callable, fed.args, fed.kwargs)
    draw = random.Random(0)
    samples: list[Sample | None] = []
    failing: set[Any] = set()
    for nth in range(1 + FITTED + CHECKED):
        sizes = _draw_sizes(usual, nth, draw) if nth else usual
        try:
            args, kwargs = materialize_spec(fed.spec.with_sizes(**sizes), make_tensor)
        except InputError:
            samples.append(None)
            continue
        request = RunRequest(
            letters={**fed.spec.letters, **sizes},
            options=EngineOptions(going_on=GoingOn(quick=True)),
            memo=memo,
            taken=taken,
            sampled=True,
        )
        with fed.running():
            result = record_run(fed.callable, args, kwargs, request)
        if any(finding.code == TIMEOUT for finding in result.trace.findings):
            return [None]
        sample = result.sample
        if sample is None:
            samples.append(None)
            continue
        sample = replace(sample, letters=sizes)
        keys = [sample.keys[failure.op] for failure in result.failures]
        if nth == 0:
            failing = set(keys)
        if failing.issuperset(keys):
            samples.append(sample)
        else:  # what it went on with at the first is not to be trusted either
            samples.append(cut_sample(sample, result.failures[0].op))
    return samples


def _draw_sizes(usual: dict[str, int], nth: int, draw: random.Random) -> dict[str, int]:
    """Draw random sizes above or below the usual sizes, or a multiple of a step above
    them.
    """
    sizes = {}
    for name, size in usual.items():
        beyond = size + draw.randrange(1, SPAN if size > 4 else 4)
        multiple = size + STEP * draw.randrange(8) if size > 4 else beyond
        below = draw.randrange(1, size + 1)
        sizes[name] = (beyond, multiple, beyond, below)[nth % 4]
    return sizes
