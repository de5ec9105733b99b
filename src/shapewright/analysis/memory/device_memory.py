"""What GPUs have for a process, and what a process takes there besides its tensors.

Each number has its source. Data sheets give a size without saying what of it a program
can have: where no message of torch with its `total capacity` was found, the capacity is
a range, from the data sheet's gigabytes (10**9 bytes) to as many GiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shapewright.analysis.memory.caching_allocator import MIB
from shapewright.record.memory import MemoryEvents, TotalBytes

GIB = 1 << 30

CONTEXT = (300 * MIB, 600 * MIB)
"""Bytes of a CUDA context with torch's kernels, which the allocator does not see.

No data sheet has it; reports of users and of torch's forum lie in this range, for CUDA
that loads kernels when they are needed. Older ones took more: 815 MiB on an A100 with
torch 1.13 (pytorch/pytorch#85017), 1,341 MiB on a V100 with CUDA 11.2 (transformers,
"Model training anatomy")."""

CONTEXT_9 = (600 * MIB, 800 * MIB)
"""The same on compute capability 9: 751 MiB after the first model, and 795 after
twenty, on an H200 with torch 2.11 and CUDA 13 (`bench/gpu_memory.py`)."""

WORKSPACE = 8 * MIB + 128 * 1024
"""Bytes of the workspace of cuBLAS, which torch allocates for each handle and stream:
`:4096:2:16:8` in `getChosenWorkspaceSize`, ATen/cuda/CublasHandlePool.cpp. Forward and
backward are threads with a handle each."""

WORKSPACE_9 = 32 * MIB
"""The same on compute capability 9, from the same function."""


TENSOR_CORES = (8, 0)
"""The compute capability from which float32 runs on tensor cores too, as TF32. What
cuDNN takes on older GPUs is not known here."""

THREADS = {(7, 5): 1024, (8, 6): 1536, (8, 7): 1536, (8, 9): 1536, (12, 0): 1536}
"""Threads that a multiprocessor holds, where it is not 2048; from the table of compute
capabilities in NVIDIA's CUDA C++ programming guide."""


@dataclass(frozen=True, slots=True)
class Processors:
    """The multiprocessors of a GPU: their compute capability, and how many there are.

    `workspace` are the bytes that cuBLAS takes for each thread of the program.
    """

    capability: tuple[int, int]
    count: int
    workspace: int

    @property
    def threads(self) -> int:
        """Return how many threads each holds."""
        return THREADS.get(self.capability, 2048)


@dataclass(frozen=True, slots=True)
class _ReportedCapacity:
    """What torch says that a GPU has, in GiB, and who reported it."""

    gib: float
    source: str


CAPACITIES: dict[tuple[str, int], _ReportedCapacity] = {
    ("NVIDIA H100", 80): _ReportedCapacity(79.11, "vllm-project/vllm#27508"),
    ("NVIDIA A100", 80): _ReportedCapacity(79.25, "levihsu/OOTDiffusion#235"),
    ("NVIDIA GeForce RTX 2080 Ti", 11): _ReportedCapacity(10.76, "ispc-lab/TMA#5"),
    ("NVIDIA GeForce RTX 4090", 24): _ReportedCapacity(23.64, "ali-vilab/VGen#104"),
    ("Tesla T4", 16): _ReportedCapacity(14.75, "hpcaitech/Open-Sora#697"),
}
"""By name and gigabytes: `total capacity` in messages of torch that users reported."""


@dataclass(frozen=True, slots=True)
class DeviceRates:
    """What a GPU does at most, by its data sheet: FLOPs and bytes in a second.

    `flops` are of dense matrix products by dtype: "tf32" for convolutions in float32,
    which torch lets use it; its products in float32 do not.
    """

    flops: Mapping[str, float]
    bytes: float


_A100 = {"bfloat16": 312e12, "float16": 312e12, "tf32": 156e12, "float32": 19.5e12}

RATES: dict[tuple[str, int], DeviceRates] = {
    # NVIDIA H100 Tensor Core GPU Architecture (white paper), SXM5, without sparsity
    ("NVIDIA H100", 80): DeviceRates(
        {"bfloat16": 989.4e12, "float16": 989.4e12, "tf32": 494.7e12,
         "float32": 66.9e12}, 3.35e12,
    ),
    # NVIDIA H200 Tensor Core GPU (data sheet), SXM: the H100's arithmetic
    ("NVIDIA H200", 141): DeviceRates(
        {"bfloat16": 989.4e12, "float16": 989.4e12, "tf32": 494.7e12,
         "float32": 66.9e12}, 4.8e12,
    ),
    # NVIDIA A100 Tensor Core GPU (data sheet), SXM4, without sparsity
    ("NVIDIA A100", 40): DeviceRates(_A100, 1.555e12),
    ("NVIDIA A100", 80): DeviceRates(_A100, 2.039e12),
    # NVIDIA Ada GPU Architecture (white paper): sums in float32, without sparsity
    ("NVIDIA GeForce RTX 4090", 24): DeviceRates(
        {"bfloat16": 165.2e12, "float16": 165.2e12, "tf32": 82.6e12,
         "float32": 82.6e12}, 1.008e12,
    ),
    # NVIDIA T4 (data sheet): no tensor cores for bfloat16 and TF32
    ("Tesla T4", 16): DeviceRates(
        {"float16": 65e12, "tf32": 8.1e12, "float32": 8.1e12}, 0.32e12
    ),
}  # fmt: skip
"""By name and gigabytes; what is not here has no estimate of its time."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What a GPU has for a program, and what is taken there besides its tensors.

    All in bytes: `capacity` at least and at most, `context` of CUDA at least and at
    most, `workspace` of cuBLAS for a thread. Without `rates`, no time is estimated.
    Memory that the CPU and the GPU of a Mac share is `is_shared`: what Metal's
    allocator adds there is not known.
    """

    capacity: tuple[int, int]
    workspace: int = WORKSPACE
    context: tuple[int, int] = CONTEXT
    rates: DeviceRates | None = None
    is_shared: bool = False

    def add_up(self, reserved: int) -> TotalBytes:
        """Return what a process takes that has so many bytes reserved.

        Of shared memory, it is as much again at most: a margin, not a measurement.
        """
        if self.is_shared:
            return TotalBytes(reserved, (0, reserved))
        return TotalBytes(reserved, self.context)


SHARES = {8: 2 / 3, 16: 2 / 3, 64: 3 / 4, 128: 3 / 4}
"""What Metal recommends to use of a Mac's memory, by gigabytes: `max allowed` in
messages of torch that users reported, divided by `HIGH_WATERMARK`. 9.07 GB of 8
(lllyasviel/Fooocus#980), 18.13 GB of 16 (haoheliu/AudioLDM2#20), 81.60 GB of 64
(BoBo0037/bobo-fun#8), 163.20 GB of 128 (Comfy-Org/ComfyUI#9308)."""

HIGH_WATERMARK = 1.7
"""How much more than that torch allows, `PYTORCH_MPS_HIGH_WATERMARK_RATIO`: a Mac
swaps before torch refuses."""


def find_shared_memory(gigabytes: int) -> DeviceMemory:
    """Return what torch has of the memory of a Mac with so many gigabytes.

    At least what Metal recommends, at most what torch allows.
    """
    least = SHARES.get(gigabytes, 2 / 3)
    most = SHARES.get(gigabytes, 3 / 4) * HIGH_WATERMARK
    sizes = int(gigabytes * least * GIB), int(gigabytes * most * GIB)
    return DeviceMemory(sizes, 0, (0, 0), is_shared=True)


def find_device_memory(
    name: str, gigabytes: int, capability: tuple[int, int]
) -> DeviceMemory:
    """Return what is known of a GPU with so many gigabytes."""
    return DeviceMemory(
        _find_capacity(name, gigabytes),
        _find_workspace(capability),
        find_context(capability),
        rates=find_rates(name, gigabytes),
    )


def find_rates(name: str, gigabytes: int) -> DeviceRates | None:
    """Return what a GPU does at most, None if that is not known here."""
    return RATES.get((name, gigabytes))


def _find_capacity(name: str, gigabytes: int) -> tuple[int, int]:
    """Return the bytes that a GPU has, at least and at most."""
    known = CAPACITIES.get((name, gigabytes))
    if known is not None:
        size = int(known.gib * GIB)
        return size, size
    return gigabytes * 10**9, gigabytes * GIB


def _find_workspace(capability: tuple[int, int]) -> int:
    """Return the bytes of the workspace of cuBLAS on one stream."""
    return WORKSPACE_9 if capability[0] == 9 else WORKSPACE


def find_context(capability: tuple[int, int]) -> tuple[int, int]:
    """Return the bytes of a CUDA context, at least and at most."""
    return CONTEXT_9 if capability[0] == 9 else CONTEXT


MEASURED = 9
"""The generation of GPUs on which what kernels take for themselves was measured."""


def list_library_notes(
    events: MemoryEvents, capability: tuple[int, int]
) -> tuple[str, ...]:
    """Return notes on what a GPU's libraries allocate and nobody publishes."""
    notes = []
    ops = {storage.op for storage in events.storages}
    if any(op.startswith("convolution") for op in ops):
        notes.append(
            "the workspaces of cuDNN's convolutions are estimated, after an H200"
            if capability >= TENSOR_CORES
            else "the workspaces of cuDNN's convolutions are not in these numbers"
        )
    if any(op.startswith("_cudnn_rnn") for op in ops):
        notes.append("the workspace of recurrent layers is estimated, after an H200")
    if capability[0] != MEASURED:
        notes.append(
            "not measured on this GPU: what kernels take for themselves is as on an "
            "H200"
        )
    return tuple(notes)
