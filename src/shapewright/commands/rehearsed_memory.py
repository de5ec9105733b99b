"""The memory of a rehearsed script: a second rehearsal, which looks at nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from shapewright.analysis.memory.rehearsed_runs import describe_run
from shapewright.commands.check import plan_continuation
from shapewright.commands.memory_devices import MemoryDevice, describe_machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from shapewright.commands.rehearsed_scripts import RehearsedScript
    from shapewright.record.rehearsed_memory import RehearsedMemory
    from shapewright.runtime.claimed_machine import Machine
    from shapewright.runtime.training.rehearsal import Rehearsed


def is_memory_wanted(machine: Machine, asked: bool | None) -> bool:
    """Return whether a rehearsal records memory: for a GPU that is named, or if asked.

    `cuda` alone names no GPU, so nothing can be said to fit.
    """
    from shapewright.inputs.errors import InputError

    if asked and machine.kind not in ("cpu", "cuda"):
        raise InputError(
            f"no memory is known for `{machine.text}` yet: name the CPU or a GPU"
        )
    if asked is not None:
        return asked
    return machine.kind == "cuda" and machine.is_named


def add_memory(
    script: RehearsedScript,
    rehearsed: Rehearsed,
    whole: bool,
    ended: Callable[[], None],
) -> Rehearsed:
    """Rehearse a script once more, and return its rehearsal with the memory it takes.

    `ended` is called when the program has ended.
    """
    from shapewright.runtime.claimed_machine import Machine

    machine = Machine(script.device or "cpu")
    if not any(
        meta.device.startswith(machine.kind) for meta in script.memo.metas.values()
    ):
        return rehearsed  # nothing was ever there
    memory = _record_memory(script, machine, whole, ended)
    return replace(rehearsed, story=replace(rehearsed.story, memory=memory))


def _record_memory(
    script: RehearsedScript, machine: Machine, whole: bool, ended: Callable[[], None]
) -> RehearsedMemory | None:
    """Return the memory that a script takes; None if it puts nothing on the device.

    Of several GPUs it is that of the one that holds most.
    """
    from shapewright.engine.engine import EngineOptions
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.runtime.memory.rehearsed_storages import RehearsedStorages
    from shapewright.runtime.run_record import RunRequest

    device = describe_machine(machine)
    if not machine.is_named:
        device = MemoryDevice(machine.kind, device.capability)
    storages = RehearsedStorages(device.capability)
    rehearsal = replace(script.rehearsal(whole=whole), memory=storages)
    options = EngineOptions(
        graph=True, going_on=plan_continuation(None), watch=storages.watch_plan,
        flops=False, holding=False,
    )  # fmt: skip
    folder = os.getcwd()
    request = RunRequest(target=script.target.place, options=options, ended=ended)
    result = script.run(rehearsal, request, Constructions())
    early = ""
    if not result.trace.complete:
        message = result.trace.findings[-1].message if result.trace.findings else ""
        early = message or "the script ended early"
    names = ["cpu"]
    if machine.kind == "cuda":
        names = [f"cuda:{number}" for number in range(machine.count)]
    runs = [
        describe_run(
            storages.finish(name, folder, early), device.name, device.capability,
            device.capacity,
        )
        for name in names
    ]  # fmt: skip
    most = max(runs, key=lambda run: run.peak.bytes)
    return most if most.peak.bytes else None
