"""The request for a run, and the record into which its events are folded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.call_sites import USER, Positions, get_source
from shapewright.engine.engine import Engine, EngineOptions
from shapewright.engine.event_record import Fold, find_stepped
from shapewright.engine.failures.run_ends import (
    Frozen,
    Stopped,
    collect_findings,
    freeze_names,
    is_own,
)
from shapewright.engine.identity import Info
from shapewright.engine.memo import Memo
from shapewright.engine.module_calls import Calls
from shapewright.engine.recipes.recipe import (
    Sample,
    collect_calls,
    get_shapes,
    make_sample,
)
from shapewright.engine.tracked_sizes.comparisons import WatchedCalls, Watching
from shapewright.operators.failed_calls import Ending, Failure
from shapewright.program.spans import Span
from shapewright.record.data_values import DataValues
from shapewright.record.guards import Guards
from shapewright.record.ops import Assumption, Lazy, Source
from shapewright.record.trace import Trace
from shapewright.runtime.restore.snapshot import Snapshot

if TYPE_CHECKING:
    from shapewright.runtime.training.rehearsal import (
        RehearsalRequest,
        Rehearsed,
        Rehearser,
    )

USUAL = EngineOptions()


class UnderWay:
    """A run in progress, with its trace so far in case it never ends."""

    so_far: Callable[[Stopped], Trace] | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The settings of a run and of its trace.

    `target`, `letters` and `assumed` stand in the trace. Runs of the same target may
    share what was `taken` of it and the answers of a `memo`. `sampled` asks for the
    numbers of the run, `guards` for what sizes are compared with, `rehearsal` for a
    training script to be rehearsed. `progress` is called with each module, `ended` when
    the program has ended; `under_way` has the trace until now.
    """

    target: str = ""
    letters: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[Assumption, ...] = ()
    options: EngineOptions = USUAL
    memo: Memo | None = None
    taken: Snapshot | None = None
    sampled: bool = False
    guards: Watching | None = None
    rehearsal: RehearsalRequest | None = None
    progress: Callable[[str], None] | None = None
    ended: Callable[[], None] | None = None
    under_way: UnderWay = field(default_factory=UnderWay)

    def with_assumptions(self, *assumptions: str | Assumption) -> RunRequest:
        """Return a request whose trace also lists assumptions made before the run."""
        added = (
            Assumption(assumption) if isinstance(assumption, str) else assumption
            for assumption in assumptions
        )
        return replace(self, assumed=(*self.assumed, *added))


@dataclass(frozen=True, slots=True)
class RunResult:
    """The results of a run.

    `failures` are the calls that it passed over, `ending` is where the program's own
    Python raised, `modules` are those that were met, by path. `stepped` are the places
    that took a tensor element by element. `guards` are what its sizes were compared
    with, and `watched` is what else such a run saw. `lost` means that values were let
    go as too large, and others were supposed. `rehearsed` and `batches`, the tensors
    with samples in dim 0, are a rehearsal's. `data_values` are what was seen in data
    of the program, by the number of their tensor.
    """

    trace: Trace
    failures: tuple[Failure, ...] = ()
    ending: Callable[[], Ending] | None = None
    modules: Mapping[str, nn.Module] = field(default_factory=dict)
    stepped: tuple[Span, ...] = ()
    sample: Sample | None = None
    guards: Guards | None = None
    watched: Callable[[], WatchedCalls] | None = None
    lost: bool = False
    rehearsed: Rehearsed | None = None
    batches: frozenset[int] = frozenset()
    data_values: Mapping[int, DataValues] = field(default_factory=dict)


# -- the end of a run ----------------------------------------------------------


def collect_states(engine: Engine, calls: Calls) -> list[Any]:
    """Return parameters and buffers of modules as (path, name, info, identity, ...)."""
    states: list[Any] = []
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
                grad = _get_grad_shape(engine, tensor, info) if engine.graph else None
                states.append((path, name, info, identity, False, True, grad))
        if buffers:
            hidden = module._non_persistent_buffers_set
            for name, buffer in buffers.items():
                if buffer is not None:
                    info, saved = info_of(buffer), name not in hidden
                    states.append((path, name, info, id(buffer), True, saved, None))
    return states


def _get_grad_shape(
    engine: Engine, tensor: torch.Tensor, info: Info
) -> tuple[int, ...] | None:
    """Return the shape of a parameter's gradient at the end of the run."""
    with torch._C.DisableTorchFunction():
        grad = engine.grads.get(id(tensor))
        for holder in (info.twin, tensor):
            if grad is None and holder is not None:
                grad = holder.grad
    return None if grad is None else tuple(grad.shape)


def finish_record(
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
    rehearser: Rehearser | None = None,
) -> RunResult:
    """Fold the events of a run into a frozen record, mostly computed when read."""
    sources: dict[str, Source] = {}
    where = error.__traceback__ if error is not None else None
    while where is not None:  # a line that made no call has its text, too
        engine.sites.kind_of(where.tb_frame.f_code)
        where = where.tb_next
    for code in list(engine.sites.codes):
        kind = engine.sites.kind_of(code)
        if kind == USER and code.co_filename not in sources:
            source = get_source(code.co_filename)
            if source is not None:
                sources[code.co_filename] = source
    positions = Positions(folder, sources)
    messages = {place: message for message, place in engine.assumptions}
    fold = Fold(engine.events, calls.records, positions, states, messages)
    sample: Sample | None = None
    if request.sampled:
        sample = make_sample(
            engine.events,
            calls.records,
            dict(request.letters),
            get_shapes(_collect_infos(output)) if error is None else None,
        )
    steps = find_stepped(engine.events, fold)
    ended = error is None or isinstance(error, Exception)
    several = request.options.known is not None or request.guards is not None
    own = isinstance(error, Exception) and is_own(error, engine) and not engine.rests
    is_try = engine.going_on.gone is not None
    passing = engine.failures is not None
    names = (
        freeze_names(engine, error)
        if own and passing and error and not is_try
        else None
    )
    ops = Lazy(len(engine.events), fold.ops)
    module_calls = Lazy(len(calls.records), fold.module_calls)
    all_states = Lazy(len(states), fold.all_states)

    def ending(names: Frozen) -> Ending:
        ops.read()  # its tensors have their numbers first
        return names.ending(fold)

    trace = Trace(
        target=request.target or _get_name(root, calls),
        ops=ops,
        calls=module_calls,
        states=all_states,
        output=fold.last(output, engine.writes),
        findings=tuple(collect_findings(engine, fold, error, positions)),
        assumptions=(
            *_collect_assumptions(engine, fold),
            *request.assumed,
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
    watching = request.guards
    if request.rehearsal is not None or (watching is not None and not watching.own):
        for part in (ops, module_calls, all_states):
            part.read()  # their tensors have their numbers first
    guards: Guards | None = None
    watched: Callable[[], WatchedCalls] | None = None
    if engine.comparisons is not None and watching is not None:
        number_of = int if watching.own else fold.number_of
        guards = engine.comparisons.close(folder, number_of)
        watched = partial(
            collect_calls, engine, engine.comparisons, _collect_infos(output)
        )
    batches: frozenset[int] = frozenset()
    data_values: dict[int, DataValues] = {}
    if rehearser is not None:
        batches = frozenset(map(fold.number_of, rehearser.stage.batched))
        data_values = {
            fold.number_of(number): values
            for number, values in engine.data_values.items()
        }
    _release_tensors(engine)
    return RunResult(
        trace,
        tuple(engine.failures or ()),
        partial(ending, names) if names is not None else None,
        modules,
        steps,
        sample,
        guards,
        watched,
        engine.lost and bool(messages) and ended and not several,
        rehearser.rehearsed if rehearser is not None else None,
        batches,
        data_values,
    )


def _collect_infos(nest: Any) -> tuple[Info, ...]:
    """Return the infos in a nested structure, in order."""
    if isinstance(nest, Info):
        return (nest,)
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, list | tuple):
        return tuple(info for item in nest for info in _collect_infos(item))
    return ()


def _collect_assumptions(engine: Engine, fold: Fold) -> list[Assumption]:
    """Return the assumptions of the run, each once per line with its count."""
    counts: dict[tuple[str, str, str, int], tuple[Assumption, int]] = {}

    def add(assumption: Assumption, count: int) -> None:
        span = assumption.span
        place = (span.file, span.line) if span else ("", 0)
        key = (assumption.stands_for, assumption.message, *place)
        first, before = counts.get(key, (assumption, 0))
        counts[key] = first, before + count

    for (by, place), stand_ins in engine.stand_ins.items():
        span, _ = fold.place(*place)
        for (what, basis), count in stand_ins.items():
            add(Assumption(by, span, stands_for=what, basis=basis), count)
    for (message, place), count in engine.assumptions.items():
        add(Assumption(message, fold.place(*place)[0]), count)
    return [replace(first, count=count) for first, count in counts.values()]


def _get_name(root: nn.Module | None, calls: Calls) -> str:
    if root is not None:
        return type(root).__name__
    return calls.records[0].name if calls.records else ""


def _release_tensors(engine: Engine) -> None:
    """Drop all references to tensors, since the record needs only their metadata."""
    for _, info in engine.theirs.values():
        info.twin = None
        info.storage.blank = info.storage.clone = None
    for info in engine.met:
        info.twin = None
        info.storage.blank = info.storage.clone = None
    engine.theirs.clear()
    engine.their_storages.clear()
    engine.grads.clear()
