"""What GPUs have for a process, and what a process takes there besides its tensors.

Each number has its source. Data sheets give a size without saying what of it a program
can have: where no message of torch with its `total capacity` was found, the capacity is
a range, from the data sheet's gigabytes (10**9 bytes) to as many GiB.
"""

from __future__ import annotations

from dataclasses import dataclass

from shapewright.analysis.memory.caching_allocator import MIB

GIB = 1 << 30

CONTEXT = (300 * MIB, 600 * MIB)
"""Bytes of a CUDA context with torch's kernels, which the allocator does not see.

No data sheet has it; reports of users and of torch's forum lie in this range. It has
not been measured here."""

WORKSPACE = 8 * MIB + 128 * 1024
"""Bytes of the workspace of cuBLAS, which torch allocates for each handle and stream:
`:4096:2:16:8` in `getChosenWorkspaceSize`, ATen/cuda/CublasHandlePool.cpp."""

WORKSPACE_9 = 32 * MIB
"""The same on compute capability 9, from the same function."""


@dataclass(frozen=True, slots=True)
class _DeviceMemory:
    """What torch says that a GPU has, in GiB, and who reported it."""

    gib: float
    source: str


CAPACITIES: dict[tuple[str, int], _DeviceMemory] = {
    ("NVIDIA H100", 80): _DeviceMemory(79.11, "vllm-project/vllm#27508"),
    ("NVIDIA A100", 80): _DeviceMemory(79.25, "levihsu/OOTDiffusion#235"),
    ("NVIDIA GeForce RTX 4090", 24): _DeviceMemory(23.64, "ali-vilab/VGen#104"),
    ("Tesla T4", 16): _DeviceMemory(14.75, "hpcaitech/Open-Sora#697"),
}
"""By name and gigabytes: `total capacity` in messages of torch that users reported."""


def find_capacity(name: str, gigabytes: int) -> tuple[int, int]:
    """Return the bytes that a GPU has, at least and at most."""
    known = CAPACITIES.get((name, gigabytes))
    if known is not None:
        size = int(known.gib * GIB)
        return size, size
    return gigabytes * 10**9, gigabytes * GIB


def find_workspace(capability: tuple[int, int]) -> int:
    """Return the bytes of the workspace of cuBLAS on one stream."""
    return WORKSPACE_9 if capability[0] == 9 else WORKSPACE
