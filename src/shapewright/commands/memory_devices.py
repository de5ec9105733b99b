"""Devices whose memory is asked for, by their names: `RTX 4090`, `H100 80GB`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shapewright.analysis.memory.device_memory import (
    DeviceMemory,
    Processors,
    find_device_memory,
)

if TYPE_CHECKING:
    from shapewright.runtime.named_machines import Machine


METAL_NOTE = (
    "not measured on a Mac: attention keeps its matrix of scores, other kernels are "
    "taken to be those of the CPU, and Metal's allocator is not replayed, for which as "
    "much again is left room"
)


@dataclass(frozen=True, slots=True)
class MemoryDevice:
    """A device by its name; a GPU has a capability and a memory.

    A GPU that nobody named has a capability alone, that of a Mac a memory alone.
    """

    name: str
    capability: tuple[int, int] | None = None
    memory: DeviceMemory | None = None
    processors: Processors | None = None

    @property
    def is_metal(self) -> bool:
        """Return whether it is the GPU of a Mac."""
        return self.memory is not None and self.memory.is_shared


def find_memory_device(text: str) -> MemoryDevice:
    """Return a device by its name; raise `InputError` if its memory is not known."""
    from shapewright.inputs.errors import InputError
    from shapewright.runtime.named_machines import Machine, UnknownDevice

    try:
        machine = Machine(text)
    except UnknownDevice as error:
        raise InputError(str(error)) from None
    if machine.kind == "mps" and not machine.is_named:
        raise InputError(
            f'the memory of `{text}` is that of the Mac: name its chip, "M3 Max 64GB"'
        )
    if machine.count > 1:
        raise InputError(f"`memory` is of one GPU: leave out the number in `{text}`")
    return describe_machine(machine)


def describe_machine(machine: Machine) -> MemoryDevice:
    """Return the name and the memory of a CPU or of one of the GPUs of a machine.

    Example: ``RTX 4090 24GB``, with the capability ``(8, 9)``.
    """
    if machine.kind == "cpu":
        return MemoryDevice("cpu")
    name = machine.name
    for maker in ("NVIDIA ", "GeForce ", "Tesla ", "Apple "):
        name = name.removeprefix(maker)
    name = f"{name} {machine.memory}GB"
    memory = machine.described or find_device_memory(
        machine.name, machine.memory, machine.capability
    )
    if machine.kind == "mps":
        return MemoryDevice(name, None, memory)
    processors = Processors(machine.capability, machine.processors, memory.workspace)
    return MemoryDevice(name, machine.capability, memory, processors)
