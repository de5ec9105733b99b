"""One run: the user's program on data-free tensors, and the record of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import torch
from torch import nn

from shapewright.engine import autocast, nests
from shapewright.engine.call_sites import USER, Positions, source_of
from shapewright.engine.derived.recipe import Sample, sample_of, seen_of, shapes
from shapewright.engine.dispatch.torch_answers import up_to_date
from shapewright.engine.engine import Engine, EngineOptions, NeedsGraph
from shapewright.engine.event_record import Fold, stepped
from shapewright.engine.failures.run_ends import (
    Frozen,
    Stopped,
    failure,
    findings_of,
    frozen,
    is_own,
)
from shapewright.engine.identity import Info
from shapewright.engine.layers.fused_attention import fast_paths_decided
from shapewright.engine.memo import Memo
from shapewright.engine.mode import Mode
from shapewright.engine.module_calls import Calls
from shapewright.engine.threads import followed
from shapewright.engine.tracked_sizes.comparisons import Comparisons, Seen, Watching
from shapewright.engine.tracked_sizes.size_reads import remembered
from shapewright.engine.unseen_calls import (
    applied,
    backward_seen,
    storages_kept,
    tensors_grouped,
    transforms_seen,
)
from shapewright.engine.values.control_flow import rests_on_chosen
from shapewright.operators.failed_calls import Ending, Failure
from shapewright.program.spans import Span
from shapewright.record.guards import Guards
from shapewright.record.ops import Assumption, Lazy, Source
from shapewright.record.report import Remainder
from shapewright.record.trace import Trace
from shapewright.runtime.limits import Heard, undisturbed
from shapewright.runtime.model_building import torch_claimed
from shapewright.runtime.restore.process_state import leave_if_forked
from shapewright.runtime.restore.snapshot import Taken, as_taken, module_of, take

USUAL = EngineOptions()
LARGE = 1 << 18
"""Elements of the largest tensor whose values are kept where a run failed without."""


class Companion(Protocol):
    """What stands around a run and looks on: the rehearsal of a training script."""

    @property
    def batches(self) -> frozenset[int]: ...

    @property
    def remainders(self) -> tuple[Remainder, ...]: ...

    def watched(self, engine: Engine, calls: Calls) -> AbstractContextManager[None]:
        """The run stands in the block."""

    def number(self, number_of: Callable[[int], int]) -> None:
        """The run is over, and its tensors have the numbers of the record."""


class UnderWay:
    """A run that is under way: what was seen until now, should it never end."""

    so_far: Callable[[Stopped], Trace] | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """How to run a program, and what its trace says of it.

    `target`, `letters` and `assumed` stand in the trace. Runs of the same target may
    share what was `taken` of it and the answers of a `memo`. `sampled` asks for the
    numbers of the run, `guards` for what sizes are compared with. `companion` stands
    around it. `progress` is told of each module, `ended` called when the program has
    ended; `under_way` has the trace until now.
    """

    target: str = ""
    letters: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    options: EngineOptions = USUAL
    memo: Memo | None = None
    taken: Taken | None = None
    sampled: bool = False
    guards: Watching | None = None
    companion: Companion | None = None
    progress: Callable[[str], None] | None = None
    ended: Callable[[], None] | None = None
    under_way: UnderWay = field(default_factory=UnderWay)

    def assuming(self, *messages: str) -> RunRequest:
        """The same, and the trace says that these were supposed before the run."""
        return replace(self, assumed=(*self.assumed, *messages))


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run showed.

    `failures` are the calls that it passed over, `ending` says where the program's own
    Python raised, `modules` are those that were met, by path. `stepped` are the places
    that took a tensor element by element. `guards` are what its sizes were compared
    with, and `watched` tells what else such a run saw. `lost` says that values were let
    go as too large, and others were supposed. `batches` and `remainders` are a
    rehearsal's.
    """

    trace: Trace
    failures: tuple[Failure, ...] = ()
    ending: Callable[[], Ending] | None = None
    modules: Mapping[str, nn.Module] = field(default_factory=dict)
    stepped: tuple[Span, ...] = ()
    sample: Sample | None = None
    guards: Guards | None = None
    watched: Callable[[], Seen] | None = None
    lost: bool = False
    batches: frozenset[int] = frozenset()
    remainders: tuple[Remainder, ...] = ()


def record(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
) -> RunResult:
    """Run `target(*args, **kwargs)` without data and return what was seen."""
    try:
        return recorded(target, args, kwargs, request)
    finally:
        if request.ended is not None:
            request.ended()


def recorded(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
) -> RunResult:
    """One run, and once more where it needs torch's own autograd or more values."""
    target = getattr(target, "_orig_mod", target)  # torch.compile's wrapper
    taken = request.taken
    try:
        if taken is not None and "graph" in taken.needs:
            raise NeedsGraph("as the runs before")
        made = attempt(target, args, kwargs, request)
    except NeedsGraph:
        if taken is not None:
            taken.needs.add("graph")
        with kept_around(target, request):
            made = attempt(target, args, kwargs, request, True)
    failed = not made.trace.complete or bool(made.failures)
    if failed and made.lost and isinstance(target, nn.Module):
        return with_larger_values(made, target, args, kwargs, request)
    return made


def kept_around(
    target: Callable[..., Any], request: RunRequest
) -> AbstractContextManager[None]:
    """A function that trains changes optimizers and schedulers: they are put back."""
    if request.companion is not None or module_of(target) is not None:
        return nullcontext()
    from shapewright.runtime.restore.surroundings import optimizers_kept

    return optimizers_kept()


def with_larger_values(
    made: RunResult,
    target: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
) -> RunResult:
    """A run that supposed values and failed, once more with larger tensors known.

    It counts if it comes to its end; else the first does.
    """
    again = replace(request, options=replace(request.options, known=LARGE))
    try:
        better = attempt(target, args, kwargs, again)
    except NeedsGraph:
        better = attempt(target, args, kwargs, again, True)
    return made if not better.trace.complete or better.failures else better


def before_any_call(target: str, error: BaseException) -> Trace:
    """The trace of a program that ended while it was imported or built."""
    finding = failure(error, Mode(), Positions(os.getcwd(), {}))
    return Trace(
        target=target, ops=(), calls=(), states=(), output=None,
        findings=(finding,), complete=False,
    )  # fmt: skip


def attempt(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
    again: bool = False,
) -> RunResult:
    """One pass over the program; `again` with torch's own autograd below."""
    try:
        with undisturbed() as heard:
            return watched_run(heard, target, args, kwargs, request, again)
    finally:
        request.under_way.so_far = None  # it holds the run


def watched_run(
    heard: Heard,
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
    again: bool,
) -> RunResult:
    """Set up, run what is watched, put back, and fold what was seen."""
    began = time.perf_counter()
    folder = os.getcwd()
    taken = request.taken or take(target, args, kwargs)
    root = taken.root
    options = request.options
    graph = again or options.graph
    if request.guards is not None:
        comparisons = Comparisons(request.guards.stand_ins)
        options = replace(options, comparisons=comparisons)
    engine = Mode(request.memo, replace(options, graph=graph))
    calls = Calls(engine, taken.modules)
    calls.progress = request.progress
    engine.sites.bound(_call.__code__)
    error: BaseException | None = None
    output: Any = None
    modules: dict[str, nn.Module] = {}

    def so_far(stopped: Stopped) -> Trace:
        """What was seen until now, for a program that cannot be stopped."""
        return finish(
            engine, calls, [], None, stopped, folder, [], request, began, root, {}
        ).trace

    request.under_way.so_far = so_far
    with ExitStack() as stack:
        changes = stack.enter_context(as_taken(taken, args, kwargs, engine.life))
        engine.recall(taken.seen)
        prepare(engine, taken.near, args, kwargs, options.values)
        if engine.comparisons is not None:
            engine.comparisons.begin(
                engine.events, tuple(map(engine.info, nests.tensors((args, kwargs))))
            )
        stack.enter_context(calls.watched())
        stack.enter_context(torch_claimed(engine))
        stack.enter_context(applied(engine))
        stack.enter_context(storages_kept(engine))
        stack.enter_context(tensors_grouped(engine))
        stack.enter_context(fast_paths_decided(engine))
        if graph:
            stack.enter_context(backward_seen(engine))
        stack.enter_context(transforms_seen(engine))
        stack.enter_context(autocast.claimed())
        stack.enter_context(followed(engine))
        if engine.comparisons is not None:
            near = [module for _, module in taken.modules]
            stack.enter_context(remembered(engine, engine.comparisons, target, near))
        stack.enter_context(engine)
        if request.companion is not None:
            stack.enter_context(request.companion.watched(engine, calls))
        try:
            with heard():
                output = _call(engine, calls, target, root, args, kwargs)
            with torch._C.DisableTorchFunction():
                look = partial(up_to_date, engine) if graph else engine.info
                output = nests.snapshot(output, look)
        except (NeedsGraph, KeyboardInterrupt):
            raise
        except BaseException as caught:
            error = caught
            engine.end_with(rests_on_chosen(engine, error))  # while objects are as then
        leave_if_forked(taken.did["pid"], error)
        if engine.needs_graph and not graph:
            raise NeedsGraph("in a thread")
        states = states_of(engine, calls)
        if engine.failures is not None:
            named = calls.paths
            modules = {named[key]: each for key, each in calls.alive.items()}
        if request.taken is not None and not taken.seen:
            taken.seen.update(engine.unwritten())
    notes = [
        text if n == 1 else f"{text} ({n} times)" for text, n in engine.notes.items()
    ]
    if changes.put_back:
        notes.append(f"put back after the run: {', '.join(changes.put_back[:8])}")
    if changes.patched:
        notes.append(f"the program changed {', '.join(changes.patched[:8])}; put back")
    if engine.started:
        notes.append(
            f"{engine.started} threads were started; their calls stand in the order in "
            "which they came, under the module that ran meanwhile"
        )
    if graph and not options.graph:
        notes.append(
            "run again with torch's own autograd below, for gradients or written views"
        )
    return finish(
        engine, calls, states, output, error, folder, notes, request, began, root,
        modules,
    )  # fmt: skip


def _call(
    engine: Engine,
    calls: Calls,
    target: Callable[..., Any],
    root: nn.Module | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if isinstance(target, nn.Module):
        return target(*args, **kwargs)
    name = (
        type(root).__name__
        if root is not None
        else getattr(target, "__name__", type(target).__name__)
    )
    call = calls.begin("", name, id(target), (), args, kwargs)
    call.method = getattr(target, "__name__", "call") if root is not None else "call"
    try:
        out = target(*args, **kwargs)
    finally:
        calls.end(call)
    call.output = nests.snapshot(out, engine.info)
    return out


def prepare(
    engine: Engine,
    modules: list[tuple[str, nn.Module]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    values: bool,
) -> None:
    """First sight of the model's tensors and of the inputs, each with its claim."""
    for _, module in modules:
        for buffer in module._buffers.values():
            if buffer is not None and getattr(buffer, "_sw", None) is not None:
                engine.meet(buffer)  # the others when the program first uses them
    if not values:
        nests.visit((args, kwargs), lambda t: engine.unknown_ids.add(id(t)))
    given = nests.tensors((args, kwargs))
    for tensor in given:
        engine.meet(tensor, mine=getattr(tensor, "_sw", None) is not None)
    own = [t for t in given if getattr(t, "_sw", None) is None]
    if any(t.is_meta for t in own) and any(t.dim() and not t.is_meta for t in own):
        engine.assume("an input on `meta` is taken to be where the others are")


# -- the end of a run ----------------------------------------------------------


def states_of(engine: Engine, calls: Calls) -> list[Any]:
    """Parameters and buffers of every module seen: (path, name, info, identity ...)."""
    found: list[Any] = []
    theirs, info_of = engine.theirs, engine.info
    for key, module in list(calls.alive.items()):
        parameters, buffers = module._parameters, module._buffers
        if not parameters and not buffers:
            continue
        path = calls.paths.get(key, "")
        for name, tensor in parameters.items():
            if tensor is not None:
                identity = id(tensor)
                pair = theirs.get(identity)
                info = info_of(tensor) if pair is None else pair[1]
                grad = grad_shape(engine, tensor, info) if engine.graph else None
                found.append((path, name, info, identity, False, True, grad))
        if buffers:
            hidden = module._non_persistent_buffers_set
            for name, buffer in buffers.items():
                if buffer is not None:
                    info, saved = info_of(buffer), name not in hidden
                    found.append((path, name, info, id(buffer), True, saved, None))
    return found


def grad_shape(
    engine: Engine, tensor: torch.Tensor, info: Info
) -> tuple[int, ...] | None:
    """The shape of the gradient that a parameter has at the end of the run."""
    with torch._C.DisableTorchFunction():
        grad = engine.grads.get(id(tensor))
        for holder in (info.twin, tensor):
            if grad is None and holder is not None:
                grad = holder.grad
    return None if grad is None else tuple(grad.shape)


def finish(
    engine: Engine,
    calls: Calls,
    states: list[Any],
    output: Any,
    error: BaseException | None,
    folder: str,
    notes: list[str],
    request: RunRequest,
    began: float,
    root: nn.Module | None,
    modules: dict[str, nn.Module],
) -> RunResult:
    """Fold what was seen into the frozen record; most of it only when it is read."""
    sources: dict[str, Source] = {}
    where = error.__traceback__ if error is not None else None
    while where is not None:  # a line that made no call has its text, too
        engine.sites.kind_of(where.tb_frame.f_code)
        where = where.tb_next
    for code in list(engine.sites.codes):
        kind = engine.sites.kind_of(code)
        if kind == USER and code.co_filename not in sources:
            source = source_of(code.co_filename)
            if source is not None:
                sources[code.co_filename] = source
    positions = Positions(folder, sources)
    said = {place: message for message, place in engine.assumptions}
    fold = Fold(engine.events, calls.records, positions, states, said)
    sample: Sample | None = None
    if request.sampled:
        sample = sample_of(
            engine.events,
            calls.records,
            dict(request.letters),
            shapes(infos_in(output)) if error is None else None,
        )
    steps = stepped(engine.events, fold)
    ended = error is None or isinstance(error, Exception)
    several = request.options.known is not None or request.guards is not None
    own = isinstance(error, Exception) and is_own(error, engine) and not engine.rests
    is_try = engine.going_on.gone is not None
    passing = engine.failures is not None
    names = frozen(engine, error) if own and passing and error and not is_try else None
    ops = Lazy(len(engine.events), fold.ops)
    module_calls = Lazy(len(calls.records), fold.module_calls)
    all_states = Lazy(len(states), fold.all_states)

    def ending(names: Frozen) -> Ending:
        ops.read()  # its tensors have their numbers first
        return names.ending(fold)

    made = Trace(
        target=request.target or name_of(root, calls),
        ops=ops,
        calls=module_calls,
        states=all_states,
        output=fold.last(output, engine.writes),
        findings=tuple(findings_of(engine, fold, error, positions)),
        assumptions=(
            *supposed(engine, fold),
            *map(Assumption, request.assumed),
        ),
        notes=tuple(notes),
        sources={
            positions.relative(name): Source(
                positions.relative(name), source.sha256, source.text
            )
            for name, source in sources.items()
        },
        letters=dict(request.letters),
        complete=error is None,
        training=bool(getattr(root, "training", False)),  # a frozen one has none
        seconds=time.perf_counter() - began,
        torch_version=torch.__version__,
    )
    watching, companion = request.guards, request.companion
    if companion is not None or (watching is not None and not watching.own):
        for part in (ops, module_calls, all_states):
            part.read()  # their tensors have their numbers first
    guards: Guards | None = None
    watched: Callable[[], Seen] | None = None
    if engine.comparisons is not None and watching is not None:
        number_of = int if watching.own else fold.number_of
        guards = engine.comparisons.close(folder, number_of)
        watched = partial(seen_of, engine, engine.comparisons, infos_in(output))
    if companion is not None:
        companion.number(fold.number_of)
    release(engine)
    return RunResult(
        made,
        tuple(engine.failures or ()),
        partial(ending, names) if names is not None else None,
        modules,
        steps,
        sample,
        guards,
        watched,
        engine.lost and bool(said) and ended and not several,
        companion.batches if companion is not None else frozenset(),
        companion.remainders if companion is not None else (),
    )


def infos_in(nest: Any) -> tuple[Info, ...]:
    """What is known of the tensors that the target returned, in order."""
    if isinstance(nest, Info):
        return (nest,)
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, list | tuple):
        return tuple(info for each in nest for info in infos_in(each))
    return ()


def supposed(engine: Engine, fold: Fold) -> list[Assumption]:
    """What was assumed, each once a line."""
    counts: dict[tuple[str, str, int], tuple[Assumption, int]] = {}
    for (message, place), count in engine.assumptions.items():
        span, _ = fold.place(*place)
        key = (message, span.file if span else "", span.line if span else 0)
        first, before = counts.get(key, (Assumption(message, span), 0))
        counts[key] = first, before + count
    return [replace(first, count=count) for first, count in counts.values()]


def name_of(root: nn.Module | None, calls: Calls) -> str:
    if root is not None:
        return type(root).__name__
    return calls.records[0].name if calls.records else ""


def release(engine: Engine) -> None:
    """Keep no tensor alive: the record has numbers and metadata only."""
    for _, info in engine.theirs.values():
        info.twin = None
        info.storage.blank = info.storage.clone = None
    for info in engine.met:
        info.twin = None
        info.storage.blank = info.storage.clone = None
    engine.theirs.clear()
    engine.their_storages.clear()
    engine.grads.clear()
