"""Load a target or a model, run it on its inputs, and return the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapewright.findings.codes import PROGRAM_ERROR, PROGRAM_EXIT, TIMEOUT
from shapewright.findings.finding import Finding
from shapewright.inputs.spec import make_tensor
from shapewright.program.spans import Span
from shapewright.record.ops import Assumption, Source
from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from shapewright.inputs.callables import Loaded, Module
    from shapewright.inputs.errors import ProgramError
    from shapewright.inputs.python_files import ProgramFolder
    from shapewright.inputs.search import Found
    from shapewright.inputs.spec import Candidate, Spec
    from shapewright.inputs.target import Target
    from shapewright.record.report import ChosenInputs, Moment, Rehearsal
    from shapewright.runtime.run_record import RunRequest, RunResult


Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Given = Callable[["Loaded", "Spec", "RunRequest"], "RunResult"]
"""Runs a loaded target on a spec, as a request says."""


@dataclass(frozen=True, slots=True)
class Fed:
    """The target of a run with its inputs, so that the target can run again with other
    inputs.

    `module` is the model, if any; `spec` is there where the inputs were made from one;
    `chosen` where nobody gave them.
    """

    callable: Callable[..., Any]
    module: Module | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    spec: Spec | None = None
    program: ProgramFolder | None = None
    chosen: ChosenInputs | None = None

    def running(self) -> AbstractContextManager[None]:
        """Return a context with the program's folder and modules in place."""
        return nullcontext() if self.program is None else self.program.running()


def run_target(
    parsed: Target,
    spec: Spec | None,
    request: RunRequest,
    run: Given | None = None,
    took: list[Fed] | None = None,
    declared: bool = True,
    training: bool | None = None,
) -> RunResult:
    """Load a target and run it; its final inputs are appended to `took`.

    Without `declared`, the `example_inputs` of its file are not for this target.
    `training` is the mode that the model is put into.
    """
    from shapewright.inputs.bare_sizes import READING, find_meant_tensor
    from shapewright.inputs.callables import bind_inputs, set_mode
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.target_objects import load_target
    from shapewright.runtime.model_building import build_without_data
    from shapewright.runtime.run import record_run

    supposed: list[str] = []
    loaded = load_target(parsed, build_without_data(put_back=False, supposed=supposed))
    assumptions: list[str | Assumption] = [*supposed, *loaded.program.stand_ins]
    request = request.with_assumptions(*dict.fromkeys(assumptions))
    if not declared:
        loaded = replace(loaded, examples=())
    with loaded.program.running():
        set_mode(loaded, training)
        if spec is not None:
            tensor = find_meant_tensor(loaded, spec)
            if tensor is not None:
                spec = tensor
                request = request.with_assumptions(f"inputs: {spec} ({READING})")
            bind_inputs(loaded, spec)
            if run is not None:
                return run(loaded, spec, request)
            return run_once(loaded, spec, request, took)
        if parsed.kind == "script":
            return record_run(loaded.callable, (), {}, request)
        result = _find_first_running(loaded, request, took)
    if result is None:
        raise InputError(f"no inputs are known for `{parsed}`; give some with -i")
    return result


def run_once(
    loaded: Loaded, spec: Spec, request: RunRequest, took: list[Fed] | None = None
) -> RunResult:
    """Run the target on a spec, at its stated and usual sizes."""
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.inputs.spec import materialize_spec
    from shapewright.runtime.run import record_run

    args, kwargs = materialize_spec(spec, make_tensor)
    request = replace(request, letters=dict(spec.letters))
    _record_run(took, loaded, args, kwargs, spec)
    result = record_run(loaded.callable, args, kwargs, request)
    if not result.trace.complete or result.failures:
        refuse_sizes("", loaded.callable, args, kwargs, spec.text)
    return result


def _record_run(
    took: list[Fed] | None,
    loaded: Loaded,
    args: Args,
    kwargs: Kwargs,
    spec: Spec | None,
) -> None:
    """Record the last run."""
    if took is not None:
        took[:] = [
            Fed(loaded.callable, loaded.module, args, kwargs, spec, loaded.program)
        ]


def trace_found_inputs(
    target: Any, request: RunRequest, took: list[Fed] | None = None
) -> RunResult | None:
    """Trace with inputs that the user did not give; None if the target takes none."""
    from pathlib import Path

    from shapewright.inputs.callables import make_loaded
    from shapewright.inputs.python_files import ProgramFolder

    name = getattr(target, "__name__", type(target).__name__)
    loaded = make_loaded(target, name, ProgramFolder(Path.cwd()))
    return _find_first_running(loaded, request, took)


def _find_first_running(
    loaded: Loaded, request: RunRequest, took: list[Fed] | None = None
) -> RunResult | None:
    """Return the run with the first declared inputs that reach the end or, if none are
    declared, the run with inputs found by search.
    """
    from shapewright.inputs.errors import InputError

    declared = _find_declared_inputs(loaded)
    best: RunResult | None = None
    for candidate in declared:
        result = run_candidate(loaded, candidate, request, took)
        trace = result.trace
        if trace.complete or any(f.code == TIMEOUT for f in trace.findings):
            return result
        if best is None or len(trace.ops) > len(best.trace.ops):
            best = result
    if declared:
        return best
    from shapewright.inputs.search import search_inputs

    search = search_inputs(loaded)
    if search is None:
        return None
    if not search.fits and not search.own:
        raise InputError(_describe_failed_search(loaded, search))
    return run_candidate(loaded, search.candidate, request, took)


def _describe_failed_search(loaded: Loaded, search: Found) -> str:
    """Return the sentence for a failed search, where the program may well be right."""
    return (
        f"no input was found that runs `{loaded.said}`; the best guess was"
        f" {search.candidate.inputs}, which ended with: {search.failed};"
        ' give inputs with -i, as in -i "f32[2, 3, 224, 224]"'
    )


def _get_spec(candidate: Candidate) -> Spec | None:
    """Return the candidate's inputs if they are a spec."""
    from shapewright.inputs.spec import Spec

    return candidate.inputs if isinstance(candidate.inputs, Spec) else None


def find_inputs(loaded: Loaded) -> Candidate | None:
    """Return inputs with which a target runs: declared, or else found by search.

    The `inputs` of what is found are a `Spec`; of what an author declares they may be a
    function. None where nothing runs. The program must be running
    (``with loaded.program.running()``).
    """
    from shapewright.runtime.run_record import RunRequest

    for candidate in _find_declared_inputs(loaded):
        if run_candidate(loaded, candidate, RunRequest()).trace.complete:
            return candidate
    from shapewright.inputs.search import search_inputs

    search = search_inputs(loaded)
    return search.candidate if search is not None and search.fits else None


def _find_declared_inputs(loaded: Loaded) -> tuple[Candidate, ...]:
    """Return the inputs that the model's author or library declares."""
    from shapewright.inputs.callables import get_declared_inputs

    if loaded.examples or loaded.module is None:
        return loaded.examples
    return tuple(get_declared_inputs(loaded.module))


def run_candidate(
    loaded: Loaded,
    candidate: Candidate,
    request: RunRequest,
    took: list[Fed] | None = None,
) -> RunResult:
    """Run on these inputs, and note them in the result."""
    from shapewright.runtime.run import record_run

    args, kwargs = candidate.arguments(make_tensor)
    if args or kwargs:
        request = request.with_assumptions(f"inputs: {_describe_candidate(candidate)}")
    _record_run(took, loaded, args, kwargs, _get_spec(candidate))
    if took is not None:
        took[:] = [
            replace(took[0], chosen=_build_choice_note(loaded, candidate, request))
        ]
    letters = dict(getattr(candidate.inputs, "letters", {}))
    return record_run(loaded.callable, args, kwargs, replace(request, letters=letters))


def _build_choice_note(
    loaded: Loaded, candidate: Candidate, request: RunRequest
) -> ChosenInputs | None:
    """Return the note on inputs found by search; None if they were declared."""
    from shapewright.inputs.search.hypotheses import describe_chosen_inputs

    spec = _get_spec(candidate) if candidate.chosen else None
    if spec is None or not (spec.args or spec.kwargs):
        return None
    return describe_chosen_inputs(loaded, spec, request.target or None)


def _describe_candidate(candidate: Candidate) -> str:
    """Describe a candidate: `f32[1, 3, 224, 224] (found by search: sizes by ...)`."""
    from shapewright.inputs.spec import Spec

    if isinstance(candidate.inputs, Spec):
        return f"{candidate.inputs} ({candidate.reason})"
    return candidate.reason


def feed_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, int]]:
    """Convert spec strings among the arguments to tensors."""
    if not any(isinstance(v, str) for v in (*args, *kwargs.values())):
        return args, kwargs, {}
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import materialize_spec, parse_spec

    letters: dict[str, int] = {}
    fed: list[Any] = []
    named: dict[str, Any] = {}
    for value in args:
        if not isinstance(value, str):
            fed.append(value)
            continue
        spec = parse_spec(value)
        more, by_name = materialize_spec(spec, make_tensor)
        fed += more
        named |= by_name
        letters |= spec.letters
    for name, value in kwargs.items():
        named[name] = value
        if isinstance(value, str):
            try:
                spec = parse_spec(value)
            except InputError:
                continue  # a plain string that belongs to the model
            if len(spec.args) == 1 and spec.leaves:
                named[name] = materialize_spec(spec, make_tensor)[0][0]
                letters |= spec.letters
    return tuple(fed), named, letters


def with_loops(result: RunResult) -> RunResult:
    """Add a finding for every loop over elements that the run met."""
    if not result.stepped:
        return result
    from shapewright.analysis.python_loops import find_python_loops
    from shapewright.runtime.operator_calls.loop_trials import is_same

    trace = result.trace
    findings = find_python_loops(trace, is_same, result.stepped)
    if not findings:
        return result
    return replace(result, trace=replace(trace, findings=(*trace.findings, *findings)))


def build_cut_notes(story: Rehearsal | None) -> tuple[str, ...]:
    """Return notes on cut loops, for a command that shows no story."""
    if story is None:
        return ()
    loops = list(_iter_cut_loops(story.story))
    places = tuple(  # each is said once
        f"{loop.removeprefix('the loop at ').rpartition(' had ')[0]}: "
        for loop in loops
    )
    cut = [
        *loops,
        *(
            definition
            for definition in story.skipped
            if not definition.startswith(places)
        ),
    ]
    if not cut:
        return ()
    more = f", and {len(cut) - 1} more were cut" if len(cut) > 1 else ""
    return (f"run as `shapewright rehearse` runs it, which shows more: {cut[0]}{more}",)


def _iter_cut_loops(moment: Moment) -> Iterator[str]:
    """Yield a sentence for every loop of a story that was cut short."""
    turns = moment.turns
    if turns and turns != tuple(range(1, len(turns) + 1)):
        of = "" if moment.total is None else f" of {moment.total:,}"
        yield f"the loop at {moment.file}:{moment.line} had {len(turns)} turns{of}"
    for inner in moment.inner:
        yield from _iter_cut_loops(inner)


def build_failed_trace(target: str, error: ProgramError) -> Trace:
    """Return the trace of a program that failed before its first call."""
    span = source = None
    if error.file is not None:
        line = error.line or 1
        span, source = _find_line_span(error.file, line)
    text = f"{type(error.cause).__name__}: {error.cause}"
    message = error.message + (f" (while {error.doing})" if error.doing else "")
    code = PROGRAM_EXIT if isinstance(error.cause, SystemExit) else PROGRAM_ERROR
    lines: tuple[str, ...] = ()
    file, colon, _ = target.partition(".py:")
    if colon and error.doing.startswith("importing") and code == PROGRAM_ERROR:
        hint = (
            f"`shapewright check {file}.py` runs the file as a script and explains it"
        )
        lines = (hint,)
    finding = Finding(code, "error", message, span, torch_message=text, lines=lines)
    return build_empty_trace(target, finding, source)


def _find_line_span(file: str, line: int) -> tuple[Span, Source | None]:
    """Return the span of a line's text, and its source file."""
    from shapewright.engine.call_sites import get_source

    source = get_source(file)
    text = source.text.split("\n") if source and source.text else []
    source_line = text[line - 1] if line <= len(text) else ""
    first = len(source_line) - len(source_line.lstrip()) + 1
    return Span(
        file, line, first, line, max(len(source_line.rstrip()), first) + 1
    ), source


def build_empty_trace(
    target: str, finding: Finding, source: Source | None = None
) -> Trace:
    return Trace(
        target=target, ops=(), calls=(), states=(), output=None,
        findings=(finding,), complete=False,
        sources={} if source is None else {source.file: source},
    )  # fmt: skip
