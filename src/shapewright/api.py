"""The conductor: from a target and a spec to a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shapewright.findings.finding import Finding
from shapewright.source.span import Span
from shapewright.trace.op import Op
from shapewright.trace.record import Source, Trace

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from shapewright.capture.memo import Memo
    from shapewright.capture.recording import Recording
    from shapewright.checking.tried import Overlay
    from shapewright.inputs.example import Candidate
    from shapewright.inputs.loaded import Loaded
    from shapewright.inputs.tensor import TensorSpec
    from shapewright.reasoning.program import Program
    from shapewright.trace.report import Report
    from shapewright.views.lab.page import Drawing

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command gets: the trace, as far as the program came."""

    trace: Trace

    @property
    def exit_code(self) -> int:
        """0 clean, 1 with findings; a note alone is none."""
        found = any(each.severity != "note" for each in self.trace.findings)
        return 1 if found or not self.trace.complete else 0


@dataclass(frozen=True, slots=True)
class Options:
    """How to run, apart from what belongs to the model.

    Example::

        trace = sw.options(timeout=10).trace(model, "f32[8, 3, 224, 224]")

    `timeout` is in seconds; `by` is the view that `print(trace)` shows ("module", "op"
    or "line"); `values=False` treats every given tensor as unknown data; `verify`
    asks torch itself about every answer of a rule or of the memo, and notes where it
    differs; `inside` adds to the notes of each op the kernels that torch runs for it,
    with their shapes; `memo` shares answers between runs.
    """

    timeout: float | None = None
    by: str = "module"
    values: bool = True
    verify: bool = False
    inside: bool = False
    memo: Memo | None = field(default=None, repr=False)

    def trace(self, target: Any, *args: Any, **kwargs: Any) -> Trace:
        """`shapewright.trace` under these options."""
        return _trace(target, args, kwargs, self)


def options(**given: Any) -> Options:
    """Options for a run: ``sw.options(timeout=10, by="op").trace(model, x)``."""
    return Options(**given)


def trace(target: Any, *args: Any, **kwargs: Any) -> Trace:
    """Run a model or function without data and return every tensor's shape.

    Example::

        >>> import shapewright as sw
        >>> trace = sw.trace(torch.nn.Linear(400, 120), "f32[1024, 400]")
        >>> trace.output.shape
        (1024, 120)

    `target` is an `nn.Module`, a bound method or any function. The arguments are those
    of the call: real tensors, meta tensors, or spec strings ("f32[8, 3, 32, 32]");
    every keyword belongs to the model. Without arguments, inputs are looked for as on
    the command line. The model is not touched: parameters get data-free stand-ins.

    What the program raises ends the trace and becomes its last finding; `complete` is
    then False. Raises `InputError` for a spec that cannot be read.
    """
    return _trace(target, args, kwargs, Options())


def recording(
    model: Any,
    *paths: str,
    detach: bool = False,
    cpu: bool = False,
    copy: bool = False,
) -> AbstractContextManager[Recording]:
    """Record what modules get and return while the program really runs.

    Example, a penalty on the size of activations, (8, 64, 56, 56) each::

        with sw.recording(model, "layer1.*.conv1") as seen:
            loss = criterion(model(images), labels)
        for call in seen:
            loss = loss + 1e-4 * call.output.pow(2).mean()
        loss.backward()

    `paths` are module paths or shell-style patterns of them, all modules without any.
    ``seen["layer1.0.conv1"].output`` is what that module returned, ``.args`` and
    ``.kwargs`` what it was given; ``seen["pool", 2]`` is the second call of a module
    that ran twice, ``seen["pool", -1]`` the last. Tensors are the run's own, with their
    autograd graph: `detach` drops the graph, `cpu` moves them there, `copy` keeps them
    as they were where the program later writes them in place.

    On exit, also by an exception, the hooks are gone and the values stay readable.
    Raises `LookupError` for a pattern that matches no module.
    """
    from shapewright.capture.recording import recording as record_calls

    return record_calls(model, *paths, detach=detach, cpu=cpu, copy=copy)


def explain(call: Any, *args: Any, **kwargs: Any) -> Drawing:
    """Draw what an operator of torch does with each element.

    Example, with tensors whose values are shown, (4, 6) and (2, 6)::

        sw.explain(torch.gather, x, 0, index)
        sw.explain("torch.gather(f32[4, 6], 0, i64[2, 6])")

        sw.explain("model.py:57", "f32[8, 3, 32, 32]")
        sw.explain(trace.ops[12])

    `call` is a function of torch, a method of `torch.Tensor` or of a tensor, with its
    arguments; or the text of a call, which is read as data and run on made-up values;
    or a line of a program, which is run on the inputs that follow, as specs; or an op
    of a trace. A function runs on copies: no argument is changed. The drawing shows
    itself in a notebook, prints as text and can be saved.

    What torch refuses is drawn with torch's message. Raises `TypeError` for a function
    that is not torch's, `InputError` for a text that is not a call of an operator.
    """
    from shapewright.views.lab.page import Drawing

    if isinstance(call, Op):
        from shapewright.capture.lab.replaying import replay

        return Drawing(replay(call).drawn)
    if isinstance(call, str):
        from shapewright.inputs.line import is_line

        if is_line(call) and not kwargs and all(isinstance(one, str) for one in args):
            return explain_line(call, ", ".join(args) or None)
        if args or kwargs:
            raise TypeError("a call in text has its arguments in the text")
        from shapewright.explaining import explained

        return explained(call)
    from shapewright.capture.lab.explaining import explain_tensors

    return Drawing(explain_tensors(call, args, kwargs))


def explain_line(
    place: str,
    spec: str | None = None,
    *,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> Drawing:
    """What a line of a program does: ``explain_line("model.py:57", "f32[8, 3]")``.

    The program is run once without data, as by `trace_target`; then each tensor call
    of the line is called again on small real tensors of the same shapes, and drawn.
    Raises `InputError` for a file, a line or inputs that cannot be used.
    """
    from shapewright.inputs.line import read_line

    line = read_line(place, spec is not None)
    from shapewright.capture.lab.watching import Watch
    from shapewright.explaining import drawn_line
    from shapewright.views.lab.page import Drawing

    watch = Watch()
    made = trace_target(
        line.target, spec, timeout=timeout, progress=progress, watch=watch
    ).trace
    return Drawing(drawn_line(line, made, watch))


def draw(tensor: Any, name: str = "tensor") -> Drawing:
    """Draw one tensor: its elements, its strides, and the storage that it looks at.

    Example, of a (3, 2) view::

        >>> print(sw.draw(torch.arange(6).view(2, 3).t()))

    It says whether the tensor is contiguous and why not, whether it is a view, and
    which cells of its storage it reaches. Nothing of it is changed.
    """
    from shapewright.capture.lab.stores import stored
    from shapewright.views.lab.page import Drawing

    return Drawing(stored(tensor, name))


def _trace(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Options
) -> Trace:
    from shapewright.capture.limits import limited
    from shapewright.capture.running import (
        Settings,
        Stopped,
        before_any_call,
        record,
    )

    settings = Settings(
        memo=given.memo, verify=given.verify, values=given.values, inside=given.inside
    )
    try:
        with limited(given.timeout):
            if not args and not kwargs:
                found = _searched(target, settings)
                if found is not None:
                    return _shown(_with_loops(found, settings), given)
            args, kwargs, settings.letters = _fed(args, kwargs)
            made = record(target, args, kwargs, settings)
            return _shown(_with_loops(made, settings), given)
    except Stopped as stopped:  # between two tries of inputs
        name = getattr(target, "__name__", type(target).__name__)
        return _shown(before_any_call(name, stopped), given)


def _shown(made: Trace, given: Options) -> Trace:
    return made if given.by == "module" else replace(made, by=given.by)


def _with_loops(made: Trace, settings: Any) -> Trace:
    """The trace with a note on each loop over elements, where the run met one."""
    if not settings.stepped:
        return made
    from shapewright.capture.lab.trying import same
    from shapewright.reasoning.loops.finding import python_loops

    found = python_loops(made, same, settings.stepped)
    return replace(made, findings=(*made.findings, *found)) if found else made


def _fed(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, int]]:
    """Spec strings among the arguments become tensors."""
    if not any(isinstance(v, str) for v in (*args, *kwargs.values())):
        return args, kwargs, {}
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.example import materialize
    from shapewright.inputs.spec import parse

    letters: dict[str, int] = {}
    fed: list[Any] = []
    named: dict[str, Any] = {}
    for value in args:
        if not isinstance(value, str):
            fed.append(value)
            continue
        spec = parse(value)
        more, by_name = materialize(spec, _make)
        fed += more
        named |= by_name
        letters |= spec.letters
    for name, value in kwargs.items():
        named[name] = value
        if isinstance(value, str):
            try:
                spec = parse(value)
            except InputError:
                continue  # a plain string that belongs to the model
            if len(spec.args) == 1 and spec.leaves:
                named[name] = materialize(spec, _make)[0][0]
                letters |= spec.letters
    return tuple(fed), named, letters


def _make(leaf: TensorSpec) -> Any:
    """A tensor of a spec, as capture feeds it."""
    from shapewright.capture.feeding import feed
    from shapewright.inputs.example import filled

    device = f"{leaf.device}:0" if leaf.device == "cuda" else leaf.device
    return feed(
        leaf.shape, leaf.dtype, device, leaf.name, filled(leaf), leaf.requires_grad
    )


def _searched(target: Any, settings: Any) -> Trace | None:
    """Trace with inputs that nobody gave; None where it takes none."""
    from pathlib import Path

    from shapewright.inputs.loaded import loaded_object
    from shapewright.inputs.program import Program

    name = getattr(target, "__name__", type(target).__name__)
    return _first_that_runs(loaded_object(target, name, Program(Path.cwd())), settings)


def _first_that_runs(loaded: Loaded, settings: Any) -> Trace | None:
    """Try declared inputs, then likely ones; keep the first that runs to its end."""
    from shapewright.capture.running import record
    from shapewright.inputs.guess import guess
    from shapewright.inputs.loaded import declared_by

    declared = loaded.examples
    if not declared and loaded.module is not None:
        declared = tuple(declared_by(loaded.module))
    candidates: list[Candidate] = list(declared)
    if not candidates:
        candidates = guess(loaded)
    best: Trace | None = None
    for candidate in candidates:
        args, kwargs = candidate.arguments(_make)
        settings.assumed = (f"inputs: {_described(candidate, args, kwargs)}",)
        if not args and not kwargs:
            settings.assumed = ()
        made = record(loaded.callable, args, kwargs, settings)
        if made.complete or any(f.code == "timeout" for f in made.findings):
            return made
        if best is None or len(made.ops) > len(best.ops):
            best = made
        if declared:
            return made
    return best


def _described(candidate: Candidate, args: Any, kwargs: Any) -> str:
    from shapewright.inputs.spec import Spec

    if isinstance(candidate.inputs, Spec):
        return f"{candidate.inputs} ({candidate.reason})"
    return candidate.reason


def trace_target(
    target: str,
    spec: str | None = None,
    *,
    timeout: float | None = None,
    progress: Progress | None = None,
    abandoned: Callable[[Outcome], None] | None = None,
    watch: Any = None,
) -> Outcome:
    """Trace a command-line target, as in ``trace_target("model.py:Net", "f32[8, 3]")``.

    Raises `InputError` for a target or spec that cannot be used. What the program
    raises, prints (to stderr) or exits with is part of the outcome. A program that
    cannot be stopped after `timeout` seconds ends this process; `abandoned` is given
    the outcome until then. `watch` sees every call, as `capture/lab/watching.py` says.
    """
    from shapewright.inputs.errors import ProgramError
    from shapewright.inputs.pyfile import read_source
    from shapewright.inputs.spec import parse
    from shapewright.inputs.target import parse_target

    parsed = parse_target(target)
    given = parse(spec) if spec is not None else None
    if parsed.kind in ("file", "script"):
        read_source(parsed.place)  # a mistake in it is told before torch is loaded
    from shapewright.capture.guarding import guarded
    from shapewright.capture.limits import limited, on_stderr
    from shapewright.capture.running import Settings, Stopped, before_any_call

    settings = Settings(target=target, progress=progress, watch=watch)
    with on_stderr() as end:

        def last(stopped: Stopped) -> None:
            end()
            made = (settings.so_far or partial(before_any_call, target))(stopped)
            if abandoned is not None:
                abandoned(Outcome(made))

        with limited(timeout, hard=True, last=last):
            try:
                with guarded():
                    made = _run_target(parsed, given, settings)
                    return Outcome(_with_loops(made, settings))
            except ProgramError as error:
                return Outcome(_unborn(target, error))
            except Stopped as stopped:
                return Outcome(before_any_call(target, stopped))


def check(target: Any, *args: Any, **kwargs: Any) -> Report:
    """Run a model or function without data: its shape errors, and what is likely wrong.

    Example::

        >>> report = sw.check(Net(), "f32[8, 3, 32, 32]")
        >>> [finding.code for finding in report.findings]
        ['linear-features']

    The arguments are those of `trace`. An error does not end the run: it goes on with
    what would have come out, so that independent errors are found together. The model
    is not touched. Fixes are edits of the program's text; they are tried where the
    target is a file (`shapewright check model.py:Net`), not for a live model.
    """
    from shapewright.capture.running import Settings, record
    from shapewright.checking.session import Session
    from shapewright.inputs.configuration import ignored_codes

    settings = Settings(go_on=True)
    if not args and not kwargs:
        found = _searched(target, settings)
        made = found if found is not None else record(target, (), {}, settings)
    else:
        args, kwargs, settings.letters = _fed(args, kwargs)
        made = record(target, args, kwargs, settings)
    ignored = ignored_codes(_folder_of(target))
    program = _program(_with_loops(made, settings), settings, None)
    return Session(program, ignored=ignored).report()


def _folder_of(target: Any) -> str | None:
    """The folder of the file in which a model's class, or a function, is written."""
    import os
    import sys

    owner = target if hasattr(target, "__qualname__") else type(target)
    module = sys.modules.get(getattr(owner, "__module__", None) or "")
    file: str | None = getattr(module, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else None


def check_target(
    target: str,
    spec: str | None = None,
    *,
    timeout: float | None = None,
    first: bool = False,
    strict: bool = False,
) -> Report:
    """Check a command-line target, as in ``check_target("model.py:Net", "f32[8, 3]")``.

    `first` stops at the first finding; `strict` notes every implicit broadcast.

    Raises `InputError` for a target or spec that cannot be used.
    """
    import time

    from shapewright.capture.forking import Lost, in_child, one_thread
    from shapewright.capture.guarding import guarded
    from shapewright.capture.limits import limited, on_stderr
    from shapewright.capture.running import Settings, Stopped, before_any_call
    from shapewright.checking.session import Session
    from shapewright.checking.tried import Tried, in_short
    from shapewright.inputs.configuration import ignored_codes
    from shapewright.inputs.errors import InputError, ProgramError
    from shapewright.inputs.pyfile import read_source
    from shapewright.inputs.spec import parse
    from shapewright.inputs.target import parse_target
    from shapewright.reasoning.program import kept

    parsed = parse_target(target)
    given = parse(spec) if spec is not None else None
    allowed = 30.0
    if parsed.kind in ("file", "script"):
        read_source(parsed.place)
    ignored = ignored_codes(_folder_of_place(parsed))

    def run(quick: bool = False, loops: bool = False) -> Program:
        from shapewright.capture.failing.built import Constructions

        settings = Settings(target=target, go_on=True, quick=quick)
        seen = Constructions()
        try:
            with guarded(), seen.watched():
                made = _run_target(parsed, given, settings)
        except ProgramError as error:
            made = _unborn(target, error)
        if loops:
            made = _with_loops(made, settings)
        return _program(made, settings, seen)

    def changed(texts: Overlay, quick: bool) -> Program:
        from shapewright.inputs import overlay

        overlay.install(texts)
        return run(quick)

    def again(texts: Overlay) -> Program | None:
        try:
            return in_child(lambda: kept(changed(texts, False)), allowed)
        except (Lost, InputError):
            return None

    def attempt(texts: Overlay) -> Tried:
        try:
            return in_child(lambda: in_short(changed(texts, True)), allowed)
        except (Lost, InputError):
            return Tried()

    with on_stderr(), limited(timeout, hard=True), one_thread():
        try:
            began = time.perf_counter()
            program = run(loops=True)
            allowed = 3.0 + 30 * (time.perf_counter() - began)
            session = Session(program, again, attempt, first, ignored, strict)
            return session.report()
        except Stopped as stopped:
            ended = _program(before_any_call(target, stopped), None, None)
            return Session(ended).report()


def _folder_of_place(parsed: Any) -> str | None:
    """The folder of a target that is a file."""
    import os

    if parsed.kind not in ("file", "script"):
        return None
    place: str = os.path.abspath(parsed.place)
    return os.path.dirname(place)


def _program(made: Trace, settings: Any, seen: Any) -> Program:
    """What is reasoned about."""
    import os

    from shapewright.reasoning.program import Program

    if settings is None:
        return Program(made)
    if seen is None:
        return Program(made, tuple(settings.failures))
    built, sources, loads = seen.places(settings.modules, os.getcwd())
    texts = {name: each.text for name, each in sources.items() if each.text is not None}
    return Program(made, tuple(settings.failures), built, texts, tuple(loads))


def _run_target(parsed: Any, given: Any, settings: Any) -> Trace:
    from shapewright.capture.building import building
    from shapewright.capture.running import record
    from shapewright.inputs.bind import bind
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.example import materialize
    from shapewright.inputs.load import load

    loaded = load(parsed, building(put_back=False))
    with loaded.program.running():
        if given is not None:
            bind(loaded, given)
            args, kwargs = materialize(given, _make)
            settings.letters = dict(given.letters)
            return record(loaded.callable, args, kwargs, settings)
        if parsed.kind == "script":
            return record(loaded.callable, (), {}, settings)
        found = _first_that_runs(loaded, settings)
    if found is None:
        raise InputError(f"no inputs are known for `{parsed}`; give some with -i")
    return found


def _unborn(target: str, error: Any) -> Trace:
    """The trace of a program that failed before its first call."""
    span = source = None
    if error.file is not None:
        line = error.line or 1
        span, source = whole_line(error.file, line)
    text = f"{type(error.cause).__name__}: {error.cause}"
    message = error.message + (f" (while {error.doing})" if error.doing else "")
    code = "program-exit" if isinstance(error.cause, SystemExit) else "program-error"
    finding = Finding(code, "error", message, span, torch_message=text)
    return _nothing(target, finding, source)


def whole_line(file: str, line: int) -> tuple[Span, Source | None]:
    """The span of a line's text, and the file that it stands in."""
    from shapewright.capture.positions import source_of

    source = source_of(file)
    text = source.text.split("\n") if source and source.text else []
    found = text[line - 1] if line <= len(text) else ""
    first = len(found) - len(found.lstrip()) + 1
    return Span(file, line, first, line, max(len(found.rstrip()), first) + 1), source


def _nothing(target: str, finding: Finding, source: Source | None = None) -> Trace:
    return Trace(
        target=target, ops=(), calls=(), states=(), output=None,
        findings=(finding,), complete=False,
        sources={} if source is None else {source.file: source},
    )  # fmt: skip
