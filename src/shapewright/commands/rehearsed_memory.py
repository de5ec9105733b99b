"""The memory of a rehearsed script: a second rehearsal, which looks at nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shapewright.analysis.memory.caching_allocator import replay_allocator
from shapewright.analysis.memory.largest_batch import (
    estimate_events,
    find_largest_batch,
)
from shapewright.analysis.memory.rehearsed_runs import count_needless, describe_run
from shapewright.commands.check import plan_continuation
from shapewright.commands.memory_devices import (
    METAL_NOTE,
    MemoryDevice,
    describe_machine,
)
from shapewright.record.memory import GRADIENTS, PARAMETERS, LargestBatch
from shapewright.record.ops import NOT_RECORDED

if TYPE_CHECKING:
    from shapewright.commands.rehearsed_scripts import RehearsedScript
    from shapewright.engine.engine import EngineOptions
    from shapewright.record.rehearsed_memory import RehearsedMemory
    from shapewright.record.trace import Trace
    from shapewright.runtime.limits import Limit
    from shapewright.runtime.memory.rehearsed_storages import RehearsedStorages
    from shapewright.runtime.named_machines import Machine
    from shapewright.runtime.training.rehearsal import Rehearsed

MOST_RUNS = 5
"""Runs of a script with other batches, and the first, at most."""

MOST_SECONDS = 20.0
"""Seconds of the first run, above which no other batch is tried."""

KEEPS_WHOLE = (
    "parameters are counted whole, of which each rank holds a part in a real run: "
    "whether it fits is not known"
)

EARLIER = "what was there before the call, as the parameters, is not counted"


def is_memory_wanted(machine: Machine, asked: bool | None) -> bool:
    """Return whether a rehearsal records memory: for a GPU that is named, or if asked.

    `cuda` alone names no GPU, so nothing can be said to fit.
    """
    from shapewright.inputs.errors import InputError

    if asked and machine.kind == "mps" and not machine.is_named:
        raise InputError(
            'the memory of `mps` is that of the Mac: name its chip, "M3 Max 64GB"'
        )
    if asked is not None:
        return asked
    return machine.is_named


def add_memory(
    script: RehearsedScript, rehearsed: Rehearsed, whole: bool, limit: Limit
) -> Rehearsed:
    """Rehearse a script once more, and return its rehearsal with the memory it takes.

    If it does not fit, a few more runs look for the batch that does.
    """
    from shapewright.runtime.named_machines import Machine

    machine = Machine(script.device or "cpu")
    devices = {meta.device for meta in script.memo.metas.values()}
    if not any(device.startswith(machine.kind) for device in devices):
        return rehearsed  # nothing was ever there
    began = time.perf_counter()
    measured = _MeasuredScript(script, machine, whole, limit)
    memory = measured.run({})
    if memory is not None and time.perf_counter() - began < MOST_SECONDS:
        memory = replace(memory, largest_batch=_find_batch(measured, memory))
    return replace(rehearsed, story=replace(rehearsed.story, memory=memory))


class _UnfinishedRunError(Exception):
    """Raised where a run with another batch does not say what it takes."""


@dataclass(frozen=True, slots=True)
class _MeasuredScript:
    """A script that runs for its memory, with batches of several sizes."""

    script: RehearsedScript
    machine: Machine
    whole: bool
    limit: Limit

    def run(self, batches: Mapping[tuple[str, int], int]) -> RehearsedMemory | None:
        """Return the memory that a run takes; None if it puts nothing on the device.

        Of several GPUs it is that of the one that holds most. `batches` are the sizes
        with which loaders are tried, by the lines where these are made.
        """
        from shapewright.engine.failures.constructions import Constructions
        from shapewright.runtime.limits import redirect_to_nowhere
        from shapewright.runtime.run_record import RunRequest

        storages = build_storages(self.machine, batches)
        request = RunRequest(
            target=self.script.target.place,
            options=plan_memory_run(storages),
            ended=self.limit.hold,
        )
        rehearsal = replace(self.script.rehearsal(whole=self.whole), memory=storages)
        with redirect_to_nowhere():
            result = self.script.run(rehearsal, request, Constructions())
        return describe_storages(self.machine, storages, result.trace)


def build_storages(
    machine: Machine, batches: Mapping[tuple[str, int], int] | None = None
) -> RehearsedStorages:
    """Return what records the storages of a rehearsal on a machine."""
    from shapewright.runtime.memory.rehearsed_storages import RehearsedStorages

    device = describe_machine(machine)
    return RehearsedStorages(
        device.capability, os.getcwd(), batches or {}, machine.kind, device.processors
    )


def plan_memory_run(storages: RehearsedStorages) -> EngineOptions:
    """Return the options of a rehearsal that is run for its memory."""
    from shapewright.engine.engine import EngineOptions

    return EngineOptions(
        graph=True, going_on=plan_continuation(None), watch=storages.watch_plan,
        flops=False, holding=False,
    )  # fmt: skip


def describe_storages(
    machine: Machine, storages: RehearsedStorages, trace: Trace
) -> RehearsedMemory | None:
    """Return the memory that a run took; None if it put nothing on the device.

    Of several GPUs it is that of the one that holds most.
    """
    device = describe_machine(machine)
    early = ""
    if not trace.complete:
        findings = trace.findings
        early = findings[-1].message if findings else "for a reason not known"
    if not machine.is_named:
        device = MemoryDevice(machine.kind, device.capability)
    elif storages.keeps_whole:
        device = replace(device, memory=None)
    names = ["cpu" if machine.kind == "cpu" else "mps:0"]
    if machine.kind == "cuda":
        names = [f"cuda:{number}" for number in range(machine.count)]
    runs = [
        describe_run(
            storages.finish(name, early), device.name, device.capability, device.memory
        )
        for name in names
    ]
    most = max(runs, key=lambda run: run.peak.bytes)
    if device.is_metal:
        most = replace(most, notes=(*most.notes, METAL_NOTE))
    if storages.keeps_whole:
        most = replace(most, notes=(*most.notes, KEEPS_WHOLE))
    kinds = most.peak.kinds
    if kinds.get(GRADIENTS) and not kinds.get(PARAMETERS):
        most = replace(most, notes=(*most.notes, EARLIER))
    faults = [note for note in trace.notes if note.startswith(NOT_RECORDED)]
    if faults:
        most = replace(most, notes=(*most.notes, *faults[:3]))
    return most if most.peak.bytes else None


def _find_batch(
    measured: _MeasuredScript, memory: RehearsedMemory
) -> LargestBatch | None:
    """Return the largest batch of the loader whose batch has no room, if it is known.

    Tried are whole runs of the script, as `memory --largest-batch` tries steps.
    """
    from shapewright.engine.failures.run_ends import Stopped

    turn = memory.shortage.turn if memory.shortage is not None else None
    if turn is None or turn.loader is None or not turn.batch or memory.total is None:
        return None
    if turn.number > 1 and memory.find_growth((turn.file, turn.line)) is not None:
        return None  # with smaller batches it is full some turns later
    if memory.shortage is not None and count_needless(memory, memory.shortage):
        return None  # its batch has room without gradients
    loader, total, capacity = turn.loader, memory.total, memory.capacity
    assert capacity is not None
    known = {turn.batch: memory}

    def measure(size: int) -> int:
        if size not in known:
            measured.limit.release()
            run = measured.run({loader: size})
            if run is None or run.run.ended_early:
                raise _UnfinishedRunError
            known[size] = run
        return _compute_need(known[size])

    def predict(size: int) -> int | None:
        runs = {n: run.run.events.events for n, run in known.items()}
        events = estimate_events(runs, size)
        if events is None:
            return None
        reserved = replay_allocator(events).most_reserved
        return replace(total, reserved=reserved).high

    try:
        search = find_largest_batch(
            measure, turn.batch, capacity[0], MOST_RUNS, predict
        )
    except (_UnfinishedRunError, Stopped):
        return None
    finally:
        measured.limit.hold()
    tried = {size: known[size].reserved or 0 for size in sorted(search.tried)}
    if not search.size and 1 not in tried:
        return None
    return LargestBatch("batch_size", search.size, tried, search.is_exact)


def _compute_need(memory: RehearsedMemory) -> int:
    """Return the bytes that a run needs at most."""
    assert memory.total is not None
    return memory.total.high
