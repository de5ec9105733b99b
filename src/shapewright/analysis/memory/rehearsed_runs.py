"""What the events of a rehearsed script say: its peak, and where the device is full."""

from __future__ import annotations

from dataclasses import replace

from shapewright.analysis.memory.caching_allocator import (
    SMALLEST,
    CachingAllocator,
    DeviceFull,
    replay_event,
)
from shapewright.analysis.memory.device_memory import CONTEXT, find_workspace
from shapewright.analysis.memory.growth import find_growth
from shapewright.analysis.memory.peaks import describe_moment, find_peak
from shapewright.record.memory import KINDS, Peak, TotalBytes
from shapewright.record.rehearsed_memory import (
    LoopTurn,
    RecordedRun,
    RehearsedMemory,
    Shortage,
)


def describe_run(
    run: RecordedRun,
    device: str,
    capability: tuple[int, int] | None,
    capacity: tuple[int, int] | None,
) -> RehearsedMemory:
    """Return the memory that a run takes on a device of this capability.

    Without a capability it is the CPU, whose tensors are all that is known; `capacity`
    is the least and the most that a program can have of a device.
    """
    record = run.events
    if capability is None:
        peak = find_peak(record, whole=True)
        growth = find_growth(run, 1, None)
        return RehearsedMemory(device, run, peak, _find_turn(run, peak), growth=growth)
    peak = find_peak(record, SMALLEST, whole=True)
    memory = RehearsedMemory(device, run, peak, _find_turn(run, peak))
    workspace = find_workspace(capability)
    shortage = _find_shortage(run, capacity, workspace) if capacity else None
    limit = limits = None
    if capacity is not None:
        limits = (
            capacity[0] - workspace - CONTEXT[1],
            capacity[1] - workspace - CONTEXT[0],
        )
        limit = limits[0] if shortage is None else None
    allocator = CachingAllocator(limit)
    for event in record.events:
        replay_event(allocator, event)
    return replace(
        memory,
        allocated=allocator.most_allocated,
        reserved=allocator.most_reserved,
        total=TotalBytes(allocator.most_reserved, workspace, CONTEXT),
        capacity=capacity,
        shortage=shortage,
        growth=find_growth(run, SMALLEST, limits),
    )


def _find_shortage(
    run: RecordedRun, capacity: tuple[int, int], workspace: int
) -> Shortage | None:
    """Return where the device is full, surely or else perhaps."""
    for size, context in ((capacity[1], CONTEXT[0]), (capacity[0], CONTEXT[1])):
        taken = workspace + context
        place, needed = _find_failure(run, size - taken)
        if place >= 0:
            both = needed + workspace + CONTEXT[0], needed + workspace + CONTEXT[1]
            return _describe_shortage(run, place, both, both[0] > capacity[1])
    return None


def _find_turn(run: RecordedRun, peak: Peak) -> LoopTurn | None:
    if peak.event < 0:
        return None
    return run.get_turn(run.events.events[peak.event].step)


def _find_failure(run: RecordedRun, limit: int) -> tuple[int, int]:
    """Return the place of the first event for which there is no room, and the bytes
    that would be reserved with it; (-1, 0) if there is room for all.
    """
    allocator = CachingAllocator(max(limit, 0))
    for place, event in enumerate(run.events.events):
        try:
            replay_event(allocator, event)
        except DeviceFull as full:
            return place, full.needed
    return -1, 0


def _describe_shortage(
    run: RecordedRun, place: int, needed: tuple[int, int], is_sure: bool
) -> Shortage:
    """Return what is known of the event for which there is no room."""
    event = run.events.events[place]
    file, line = run.places[event.storage]
    op = run.events.storages[event.storage].op
    moment = Peak(0, event.phase, dict.fromkeys(KINDS, 0), ())
    if place:
        moment = describe_moment(run.events, place - 1, SMALLEST)
    return Shortage(
        file, line, event.phase, run.get_turn(event.step), event.bytes, needed, moment,
        is_sure, place, op,
    )  # fmt: skip
