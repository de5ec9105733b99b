"""The time of a step at best: each kernel at the full speed of a device's data sheet.

A roofline (Williams, Waterman and Patterson, 2009): a kernel takes as long as its FLOPs
at the peak rate of its dtype, or its bytes at the bandwidth of memory, whichever is
longer. What it leaves out only adds: launches, ranks of tensor cores that are not full,
waiting for the host. So it is a bound, and no forecast.
"""

from __future__ import annotations

from shapewright.analysis.memory.device_memory import DeviceRates
from shapewright.record.memory import STEP, KernelWork, MemoryEvents, StepEstimate


def estimate_step(record: MemoryEvents, rates: DeviceRates) -> StepEstimate | None:
    """Return the least time of the last step by phase.

    None where a product has a dtype whose rate is not known. Example: on an A100 40GB,
    a product of bfloat16 of (4096, 4096) with itself is 1.4e11 FLOPs in 0.44 ms, and
    moves 101 MB in 0.06 ms: arithmetic bounds it.
    """
    seconds: dict[str, float] = {}
    bound = 0.0
    for work in record.kernels:
        rate = _find_rate(work, rates)
        if work.flops and rate is None:
            return None
        computing = work.flops / rate if rate else 0.0
        moving = work.bytes / rates.bytes
        time = max(computing, moving)
        if work.phase != STEP:
            time *= record.repeats
        seconds[work.phase] = seconds.get(work.phase, 0.0) + time
        if computing > moving:
            bound += time
    total = sum(seconds.values())
    return StepEstimate(seconds, bound / total if total else 0.0)


def _find_rate(work: KernelWork, rates: DeviceRates) -> float | None:
    """Return the FLOPs in a second of a kernel's dtype."""
    dtype = work.dtype
    if dtype == "float32" and work.op.startswith("convolution"):
        dtype = "tf32"
    return rates.flops.get(dtype)
