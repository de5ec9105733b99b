"""A program run at sizes that nobody gave, in training and in evaluation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.findings.finding import Finding
from shapewright.reasoning.edges.asking import Request
from shapewright.reasoning.edges.looking import Make, edges
from shapewright.reasoning.edges.seen import Seen, seen
from shapewright.reasoning.hazards.ignoring import ignored_here
from shapewright.reasoning.program import Program
from shapewright.trace.report import Report

if TYPE_CHECKING:
    from shapewright.tracing import Fed


def with_edges(
    report: Report,
    program: Program,
    took: Sequence[Fed],
    make: Make,
    ignored: Collection[str] = (),
) -> Report:
    """The report with what breaks only at other sizes, where nothing else is wrong."""
    wrong = any(each.severity == "error" for each in report.findings)
    if not took or wrong or not report.complete or not can_vary(took[0]):
        return report
    fed = took[0]
    found = [
        each
        for each in looked_for(program, make, fed)
        if each.code not in ignored and not ignored_here(program, each)
    ]
    if not found:
        return report
    kept = tuple(each for each in report.findings if not told_better(each, found))
    return replace(report, findings=(*kept, *found))


def looked_for(program: Program, make: Make, fed: Fed) -> list[Finding]:
    """What breaks at other sizes. A mistake of our own is told, and stops nothing."""
    letters = [leaf.letters for leaf in fed.spec.leaves] if fed.spec else []
    try:
        return edges(program, make, letters)
    except Exception as error:  # ours, not the program's
        said = f"{type(error).__name__}: {error}"
        message = f"other sizes could not be looked at ({said})"
        return [Finding("torch-error", "note", message)]


def told_better(finding: Finding, found: Sequence[Finding]) -> bool:
    """Whether a run showed what a note only foresaw."""
    if finding.code != "lost-batch" or finding.severity != "note":
        return False
    lines = {
        (span.file, span.line)
        for each in found
        for span in (each.span, *(other.span for other in each.related))
        if span is not None
    }
    span = finding.span
    return span is not None and (span.file, span.line) in lines


def can_vary(fed: Fed) -> bool:
    """Whether a model got tensors whose sizes can be changed."""
    from shapewright.runtime.input_tensors import can_resize

    return fed.module is not None and can_resize((fed.args, fed.kwargs))


def runner(
    took: Sequence[Fed],
    as_program: Callable[[Any, Any], Program],
    live: bool = False,
) -> Callable[[Request], Seen]:
    """How to run what was fed at other sizes, one request after the other.

    With `live` the model is somebody's own: a `train` or `eval` of its own class, which
    may change weights, is not called.
    """
    from shapewright.engine.memo import Memo
    from shapewright.runtime.input_tensors import as_evaluated, has_own_mode, in_mode
    from shapewright.runtime.run import Settings, record

    memo = Memo()

    def run(request: Request) -> Seen:
        found = once(request)
        if found.state == "refuses" and request.look != "cause":
            # torch's own Python raises too; what is its call, only this run tells.
            found = once(replace(request, look="cause"))
        return found

    def once(request: Request) -> Seen:
        (fed,) = took
        made = at(fed, request)
        if made is None:
            return Seen("unsure")
        why = request.look == "cause"
        settings = Settings(go_on=why, quick=True, most=1, memo=memo)
        mode = request.training
        if live and has_own_mode(fed.module):
            if mode not in (None, getattr(fed.module, "training", mode)):
                return Seen("unsure")
            mode = None
        evaluated = as_evaluated(fed.module, mode)
        with fed.running(), in_mode(fed.module, mode), evaluated:
            trace = record(fed.callable, *made, settings)
            return seen(as_program(trace, settings), request.look == "steps")

    return run


def at(fed: Fed, request: Request) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments at other sizes; None where they cannot have them."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.example import materialize
    from shapewright.runtime.input_tensors import resized
    from shapewright.searching.feeding import made_of

    args, kwargs = fed.args, fed.kwargs
    letters = {free.letter: size for free, size in request.sizes if free.stated}
    if letters and fed.spec is not None:
        try:
            args, kwargs = materialize(fed.spec.with_sizes(**letters), made_of)
        except InputError:
            return None
    places = {
        place: size
        for free, size in request.sizes
        if not free.stated
        for place in free.places
    }
    return resized(args, kwargs, places) if places else (args, kwargs)
