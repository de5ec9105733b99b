"""Run the user's program once on data-free tensors, and record the run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine import autocast, nests
from shapewright.engine.call_sites import Positions
from shapewright.engine.device_kernels import use_real_strides
from shapewright.engine.dispatch.torch_answers import update_node
from shapewright.engine.engine import Engine, NeedsGraph
from shapewright.engine.failures.run_ends import (
    Stopped,
    make_failure,
)
from shapewright.engine.layers.fused_attention import decide_fast_paths
from shapewright.engine.mode import Mode
from shapewright.engine.module_calls import Calls
from shapewright.engine.postponed_imports import skip_symbolic_checks
from shapewright.engine.threads import follow_threads
from shapewright.engine.tracked_sizes.comparisons import Comparisons
from shapewright.engine.tracked_sizes.size_reads import remember_sizes
from shapewright.engine.unseen_calls import (
    group_claimed_tensors,
    keep_storages,
    watch_apply,
    watch_backward,
    watch_transforms,
    watch_variables,
)
from shapewright.engine.values.control_flow import is_condition_assumed
from shapewright.record.trace import Trace
from shapewright.runtime.limits import Heard, delay_signals
from shapewright.runtime.model_building import patch_torch
from shapewright.runtime.restore.process_state import leave_if_forked
from shapewright.runtime.restore.snapshot import (
    find_module,
    restore_snapshot,
    take_snapshot,
)
from shapewright.runtime.run_record import (
    RunRequest,
    RunResult,
    collect_states,
    finish_record,
)

if TYPE_CHECKING:
    from shapewright.runtime.training.rehearsal import Rehearser

LARGE = 1 << 18
"""Elements of the largest tensor whose values are kept after a run failed without."""


def record_run(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
) -> RunResult:
    """Run `target(*args, **kwargs)` without data, and return what was recorded."""
    try:
        return _record_repeatedly(target, args, kwargs, request)
    finally:
        if request.ended is not None:
            request.ended()


def _record_repeatedly(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
) -> RunResult:
    """Run once, and repeat the run if it needs torch's own autograd or more values."""
    target = getattr(target, "_orig_mod", target)  # torch.compile's wrapper
    taken = request.taken
    try:
        if taken is not None and "graph" in taken.needs:
            raise NeedsGraph("as the runs before")
        result = _attempt_run(target, args, kwargs, request)
    except NeedsGraph:
        if taken is not None:
            taken.needs.add("graph")
        with _keep_optimizers(target, request):
            result = _attempt_run(target, args, kwargs, request, True)
    failed = not result.trace.complete or bool(result.failures)
    if failed and result.lost and isinstance(target, nn.Module):
        return _record_larger_values(result, target, args, kwargs, request)
    return result


def _keep_optimizers(
    target: Callable[..., Any], request: RunRequest
) -> AbstractContextManager[None]:
    """Restore optimizers and schedulers that a function changes by training."""
    if request.rehearsal is not None or find_module(target) is not None:
        return nullcontext()
    from shapewright.runtime.restore.surroundings import keep_optimizers

    return keep_optimizers()


def _record_larger_values(
    result: RunResult,
    target: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
) -> RunResult:
    """Repeat a run that failed on assumed values, keeping the values of larger tensors.

    The repetition counts if it completes; else the first run does.
    """
    again = replace(request, options=replace(request.options, known=LARGE))
    try:
        better = _attempt_run(target, args, kwargs, again)
    except NeedsGraph:
        better = _attempt_run(target, args, kwargs, again, True)
    return result if not better.trace.complete or better.failures else better


def make_early_trace(target: str, error: BaseException) -> Trace:
    """Return the trace of a program that failed while it was imported or built."""
    finding = make_failure(error, Mode(), Positions(os.getcwd(), {}))
    return Trace(
        target=target, ops=(), calls=(), states=(), output=None,
        findings=(finding,), complete=False,
    )  # fmt: skip


def _attempt_run(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
    again: bool = False,
) -> RunResult:
    """Run the program once; with `again`, torch's own autograd is used."""
    try:
        with delay_signals() as heard:
            return _watch_run(heard, target, args, kwargs, request, again)
    finally:
        request.under_way.so_far = None  # it holds the run


def _watch_run(
    heard: Heard,
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: RunRequest,
    again: bool,
) -> RunResult:
    """Set up and run the program, restore all state, and fold the recorded events."""
    began = time.perf_counter()
    folder = os.getcwd()
    taken = request.taken or take_snapshot(target, args, kwargs)
    root = taken.root
    options = request.options
    graph = again or options.graph
    if request.guards is not None:
        comparisons = Comparisons(request.guards.stand_ins)
        options = replace(options, comparisons=comparisons)
    engine = Mode(request.memo, replace(options, graph=graph))
    calls = Calls(engine, taken.modules)
    calls.progress = request.progress
    engine.sites.bound(_call_target.__code__)
    error: BaseException | None = None
    output: Any = None
    modules: dict[str, nn.Module] = {}
    rehearser: Rehearser | None = None

    def so_far(stopped: Stopped) -> Trace:
        """Return the trace so far, for a program that cannot be stopped."""
        return finish_record(
            engine, calls, [], None, stopped, folder, [], request, began, root, {}
        ).trace

    request.under_way.so_far = so_far
    with ExitStack() as stack:
        changes = stack.enter_context(
            restore_snapshot(taken, args, kwargs, engine.life)
        )
        engine.recall(taken.seen)
        _prepare_tensors(engine, taken.near, args, kwargs, options.values)
        if engine.comparisons is not None:
            engine.comparisons.begin(
                engine.events,
                tuple(map(engine.info, nests.collect_tensors((args, kwargs)))),
            )
        stack.enter_context(calls.watched())
        stack.enter_context(patch_torch(engine))
        stack.enter_context(skip_symbolic_checks())
        stack.enter_context(watch_apply(engine))
        stack.enter_context(keep_storages(engine))
        stack.enter_context(group_claimed_tensors(engine))
        stack.enter_context(decide_fast_paths(engine))
        if graph:
            stack.enter_context(use_real_strides())
            stack.enter_context(watch_backward(engine))
        stack.enter_context(watch_transforms(engine))
        stack.enter_context(watch_variables(engine))
        stack.enter_context(autocast.claim_cuda_autocast())
        stack.enter_context(follow_threads(engine))
        if engine.comparisons is not None:
            near = [module for _, module in taken.modules]
            stack.enter_context(
                remember_sizes(engine, engine.comparisons, target, near)
            )
        stack.enter_context(engine)
        if request.rehearsal is not None:
            around = request.rehearsal.watched(engine, calls)
            rehearser = stack.enter_context(around)
            target = rehearser.repeated(target)
        try:
            with heard():
                output = _call_target(engine, calls, target, root, args, kwargs)
            with torch._C.DisableTorchFunction():
                look = partial(update_node, engine) if graph else engine.info
                output = nests.copy_nest(output, look)
        except (NeedsGraph, KeyboardInterrupt):
            raise
        except BaseException as caught:  # whatever ends the program
            error = caught
            engine.end_with(
                is_condition_assumed(engine, error)
            )  # while objects are as then
        leave_if_forked(taken.did["pid"], error)
        if engine.needs_graph and not graph:
            raise NeedsGraph("in a thread")
        states = collect_states(engine, calls)
        if engine.failures is not None:
            named = calls.paths
            modules = {named[key]: module for key, module in calls.alive.items()}
        if request.taken is not None and not taken.seen:
            taken.seen.update(engine.get_unwritten())
    notes = [
        text if n == 1 else f"{text} ({n} times)" for text, n in engine.notes.items()
    ]
    if changes.put_back:
        notes.append(f"put back after the run: {', '.join(changes.put_back[:8])}")
    if changes.patched:
        notes.append(f"the program changed {', '.join(changes.patched[:8])}; put back")
    if engine.started:
        notes.append(
            f"{engine.started} threads were started; their calls are listed in the "
            "order in which they ran, under the module that was running"
        )
    if graph and not options.graph:
        notes.append(
            "run again with torch's own autograd below, for gradients or written views"
        )
    return finish_record(
        engine, calls, states, output, error, folder, notes, request, began, root,
        modules, rehearser,
    )  # fmt: skip


def _call_target(
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
    call.output = nests.copy_nest(out, engine.info)
    return out


def _prepare_tensors(
    engine: Engine,
    modules: list[tuple[str, nn.Module]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    values: bool,
) -> None:
    """Register the tensors of the model and the inputs with the engine."""
    for _, module in modules:
        for buffer in module._buffers.values():
            if buffer is not None and getattr(buffer, "_sw", None) is not None:
                engine.meet(buffer)  # the others when the program first uses them
    if not values:
        nests.visit_tensors((args, kwargs), lambda t: engine.unknown_ids.add(id(t)))
    tensors = nests.collect_tensors((args, kwargs))
    for tensor in tensors:
        engine.meet(tensor, mine=getattr(tensor, "_sw", None) is not None)
    own = [t for t in tensors if getattr(t, "_sw", None) is None]
    if any(t.is_meta for t in own) and any(t.dim() and not t.is_meta for t in own):
        engine.assume("an input on `meta` is assumed to be where the others are")
