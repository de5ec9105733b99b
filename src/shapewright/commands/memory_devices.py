"""Devices whose memory is asked for, by their names: `RTX 4090`, `H100 80GB`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shapewright.analysis.memory.device_memory import (
    DeviceMemory,
    find_device_memory,
)

if TYPE_CHECKING:
    from shapewright.runtime.named_machines import Machine


@dataclass(frozen=True, slots=True)
class MemoryDevice:
    """A device by its name; a GPU has a capability and a memory.

    A GPU that nobody named has a capability alone.
    """

    name: str
    capability: tuple[int, int] | None = None
    memory: DeviceMemory | None = None


def find_memory_device(text: str) -> MemoryDevice:
    """Return a device by its name; raise `InputError` if its memory is not known."""
    from shapewright.inputs.errors import InputError
    from shapewright.runtime.named_machines import Machine, UnknownDevice

    try:
        machine = Machine(text)
    except UnknownDevice as error:
        raise InputError(str(error)) from None
    if machine.kind not in ("cpu", "cuda"):
        raise InputError(f"no memory is known for `{text}` yet: name the CPU or a GPU")
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
    for maker in ("NVIDIA ", "GeForce ", "Tesla "):
        name = name.removeprefix(maker)
    name = f"{name} {machine.memory}GB"
    memory = machine.described or find_device_memory(
        machine.name, machine.memory, machine.capability
    )
    return MemoryDevice(name, machine.capability, memory)
