"""One run: the user's program on data-free tensors, and the record of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine import autocast, nests
from shapewright.engine.call_sites import USER, Positions, source_of
from shapewright.engine.derived.recipe import Sample, sample_of, seen_of, shapes
from shapewright.engine.devices import claimed_defaults, generators_claimed
from shapewright.engine.dispatch.torch_answers import up_to_date
from shapewright.engine.engine import (
    MOST_FAILURES,
    Engine,
    EngineOptions,
    GoingOn,
    NeedsGraph,
    Plan,
)
from shapewright.engine.event_record import Fold, Lazy, stepped
from shapewright.engine.failures.run_ends import (
    Stopped,
    failure,
    findings_of,
    frozen,
    is_own,
)
from shapewright.engine.identity import Info
from shapewright.engine.layers.fused_attention import fast_paths_decided
from shapewright.engine.layers.nested_tensors import nested_tensors_refused
from shapewright.engine.memo import Memo
from shapewright.engine.mode import Mode
from shapewright.engine.module_calls import Calls
from shapewright.engine.threads import followed
from shapewright.engine.tracers import tracers_kept
from shapewright.engine.tracked_sizes.comparisons import Comparisons, Watching
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
from shapewright.record.ops import Assumption, Source
from shapewright.record.trace import Trace
from shapewright.runtime.limits import Heard, undisturbed
from shapewright.runtime.model_building import blank_parameters
from shapewright.runtime.restore.process_state import leave_if_forked
from shapewright.runtime.restore.snapshot import Taken, as_taken, module_of, take

if TYPE_CHECKING:
    from shapewright.runtime.training.rehearsal import Rehearsing


LARGE = 1 << 18
"""Elements of the largest tensor whose values are kept where a run failed without."""


@dataclass(slots=True)
class Settings:
    """How to run: see `shapewright.options`."""

    memo: Memo | None = None
    taken: Taken | None = None  # of the same target, when several runs share it
    verify: bool = False
    inside: bool = False
    watch: Callable[[Plan], Plan] | None = None  # sees each call with its values
    values: bool = True
    known: int | None = None  # elements of the largest tensor whose values are kept
    graph: bool = False
    go_on: bool = False  # pass over calls that torch refuses
    most: int = MOST_FAILURES  # so many of them
    quick: bool = False  # without looking for all that repairs them
    lost: bool = False  # values were let go as too large, and others were supposed
    gone: tuple[str, int] | None = None  # but those at this line, which end the run
    heeds: bool = True  # what the program catches itself is left alone
    failures: list[Failure] = field(default_factory=list)
    ending: Callable[[], Ending] | None = None  # where the program's own Python raised
    modules: dict[str, nn.Module] = field(default_factory=dict)  # met, by path
    target: str = ""
    method: str = "forward"
    letters: dict[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    supposed: tuple[str, ...] = ()  # where the target was built
    progress: Callable[[str], None] | None = None
    so_far: Callable[[Stopped], Trace] | None = None
    ended: Callable[[], None] | None = None  # called when the program has ended
    stepped: tuple[Span, ...] = ()  # what the run took element by element
    sampled: bool = False  # the numbers are wanted as well, in `sample`
    sample: Sample | None = None
    guards: Watching | None = None  # watch what sizes are compared with
    rehearsing: Rehearsing | None = None  # a training script, cut to what can differ


def record(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: Settings,
) -> Trace:
    """Run `target(*args, **kwargs)` without data and return what was seen."""
    try:
        return recorded(target, args, kwargs, settings)
    finally:
        if settings.ended is not None:
            settings.ended()


def recorded(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: Settings,
) -> Trace:
    """One run, and once more where it needs torch's own autograd or more values."""
    target = getattr(target, "_orig_mod", target)  # torch.compile's wrapper
    taken = settings.taken
    try:
        if taken is not None and "graph" in taken.needs:
            raise NeedsGraph("as the runs before")
        made = attempt(target, args, kwargs, settings, settings.graph)
    except NeedsGraph:
        if taken is not None:
            taken.needs.add("graph")
        with kept_around(target, settings):
            made = attempt(target, args, kwargs, settings, True)
    failed = not made.complete or bool(settings.failures)
    if failed and settings.lost and isinstance(target, nn.Module):
        return with_larger_values(made, target, args, kwargs, settings)
    return made


def kept_around(
    target: Callable[..., Any], settings: Settings
) -> AbstractContextManager[None]:
    """A function that trains changes optimizers and schedulers: they are put back."""
    if settings.rehearsing is not None or module_of(target) is not None:
        return nullcontext()
    from shapewright.runtime.restore.surroundings import optimizers_kept

    return optimizers_kept()


def with_larger_values(
    made: Trace,
    target: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: Settings,
) -> Trace:
    """A run that supposed values and failed, once more with larger tensors known.

    It counts if it comes to its end; else the first does.
    """
    again = replace(settings, known=LARGE, failures=[], ending=None)
    try:
        better = attempt(target, args, kwargs, again, settings.graph)
    except NeedsGraph:
        better = attempt(target, args, kwargs, again, True)
    if not better.complete or again.failures:
        return made
    for name in ("failures", "ending", "modules", "stepped", "sample"):
        setattr(settings, name, getattr(again, name))
    return better


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
    settings: Settings,
    graph: bool,
) -> Trace:
    """One pass over the program, with or without torch's own autograd below."""
    try:
        with undisturbed() as heard:
            return watched_run(heard, target, args, kwargs, settings, graph)
    finally:
        settings.so_far = None  # it holds the run, and the run holds it


def watched_run(
    heard: Heard,
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: Settings,
    graph: bool,
) -> Trace:
    """Set up, run what is watched, put back, and fold what was seen."""
    began = time.perf_counter()
    folder = os.getcwd()
    taken = settings.taken or take(target, args, kwargs)
    root = taken.root
    going_on = GoingOn(settings.most, settings.quick, settings.gone, settings.heeds)
    watched = settings.guards
    options = EngineOptions(
        graph=graph,
        verify=settings.verify,
        inside=settings.inside,
        values=settings.values,
        known=settings.known,
        going_on=going_on if settings.go_on else None,
        watch=settings.watch,
        comparisons=None if watched is None else Comparisons(watched.stand_ins),
    )
    engine = Mode(settings.memo, options)
    if engine.failures is not None:
        settings.failures = engine.failures
    calls = Calls(engine, taken.modules)
    calls.progress = settings.progress
    engine.sites.bound(_call.__code__)
    error: BaseException | None = None
    output: Any = None

    def so_far(stopped: Stopped) -> Trace:
        """What was seen until now, for a program that cannot be stopped."""
        return finish(
            engine, calls, [], None, stopped, folder, [], settings, began, root
        )

    settings.so_far = so_far
    with ExitStack() as stack:
        changes = stack.enter_context(as_taken(taken, args, kwargs, engine.life))
        engine.recall(taken.seen)
        prepare(engine, taken.near, args, kwargs, settings)
        if engine.comparisons is not None:
            engine.comparisons.begin(
                engine.events, tuple(map(engine.info, nests.tensors((args, kwargs))))
            )
        stack.enter_context(calls.watched())
        stack.enter_context(blank_parameters(engine))
        stack.enter_context(applied(engine))
        stack.enter_context(storages_kept(engine))
        stack.enter_context(tensors_grouped(engine))
        stack.enter_context(generators_claimed(engine))
        stack.enter_context(tracers_kept())
        stack.enter_context(nested_tensors_refused(engine))
        stack.enter_context(fast_paths_decided(engine))
        stack.enter_context(claimed_defaults(engine))
        if graph:
            stack.enter_context(backward_seen(engine))
        stack.enter_context(transforms_seen(engine))
        stack.enter_context(autocast.claimed())
        stack.enter_context(followed(engine))
        if engine.comparisons is not None:
            modules = [module for _, module in taken.modules]
            stack.enter_context(remembered(engine, engine.comparisons, target, modules))
        stack.enter_context(engine)
        if settings.rehearsing is not None:
            stack.enter_context(settings.rehearsing.watched(engine, calls))
        try:
            with heard():
                output = _call(engine, calls, target, root, args, kwargs, settings)
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
        if settings.go_on:
            named = calls.paths
            settings.modules = {named[key]: each for key, each in calls.alive.items()}
        if settings.taken is not None and not taken.seen:
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
    if graph and not settings.graph:
        notes.append(
            "run again with torch's own autograd below, for gradients or written views"
        )
    return finish(
        engine, calls, states, output, error, folder, notes, settings, began, root
    )


def _call(
    engine: Engine,
    calls: Calls,
    target: Callable[..., Any],
    root: nn.Module | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: Settings,
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
    settings: Settings,
) -> None:
    """First sight of the model's tensors and of the inputs, each with its claim."""
    for _, module in modules:
        for buffer in module._buffers.values():
            if buffer is not None and getattr(buffer, "_sw", None) is not None:
                engine.meet(buffer)  # the others when the program first uses them
    if not settings.values:
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
    settings: Settings,
    began: float,
    root: nn.Module | None,
) -> Trace:
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
    if settings.sampled:
        settings.sample = sample_of(
            engine.events,
            calls.records,
            settings.letters,
            shapes(infos_in(output)) if error is None else None,
        )
    settings.stepped = stepped(engine.events, fold)
    ended = error is None or isinstance(error, Exception)
    several = settings.known is not None or settings.guards is not None
    settings.lost = engine.lost and bool(said) and ended and not several
    own = isinstance(error, Exception) and is_own(error, engine)
    own = own and not engine.rests
    names = frozen(engine, error) if own and settings.go_on and error else None
    settings.ending = partial(names.ending, fold) if names is not None else None
    made = Trace(
        target=settings.target or name_of(root, calls),
        ops=Lazy(len(engine.events), fold.ops),
        calls=Lazy(len(calls.records), fold.module_calls),
        states=Lazy(len(states), fold.all_states),
        output=fold.last(output, engine.writes),
        findings=tuple(findings_of(engine, fold, error, positions)),
        assumptions=(
            *supposed(engine, fold),
            *map(Assumption, (*settings.supposed, *settings.assumed)),
        ),
        notes=tuple(notes),
        sources={
            positions.relative(name): Source(
                positions.relative(name), source.sha256, source.text
            )
            for name, source in sources.items()
        },
        letters=dict(settings.letters),
        complete=error is None,
        training=bool(getattr(root, "training", False)),  # a frozen one has none
        seconds=time.perf_counter() - began,
        torch_version=torch.__version__,
    )
    if engine.comparisons is not None and settings.guards is not None:
        watching = settings.guards
        if not watching.own:
            list(made.ops), list(made.calls), list(made.states)  # their numbers first
        number_of = int if watching.own else fold.number_of
        watching.told = engine.comparisons.close(folder, number_of)
        watching.seen = partial(seen_of, engine, engine.comparisons, infos_in(output))
    if settings.rehearsing is not None:
        list(made.ops), list(made.calls), list(made.states)
        settings.rehearsing.number(fold.number_of)
    release(engine)
    return made


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
