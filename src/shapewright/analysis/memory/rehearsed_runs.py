"""What the events of a rehearsed script say: its peak, and where the device is full."""

from __future__ import annotations

from dataclasses import replace

from shapewright.analysis.memory.caching_allocator import (
    SMALLEST,
    CachingAllocator,
    DeviceFull,
    replay_allocator,
    replay_event,
)
from shapewright.analysis.memory.device_memory import (
    DeviceMemory,
    find_context,
    list_library_notes,
)
from shapewright.analysis.memory.growth import find_growth
from shapewright.analysis.memory.peaks import describe_moment, find_peak
from shapewright.record.memory import (
    ACTIVATIONS,
    ALLOCATE,
    EVALUATION,
    FREE,
    KINDS,
    Peak,
    TotalBytes,
)
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
    device_memory: DeviceMemory | None,
) -> RehearsedMemory:
    """Return the memory that a run takes on a device of this capability.

    Without a capability it is the CPU or the GPU of a Mac, whose tensors are all that
    is known; without `device_memory` it is a GPU that nobody named.
    """
    record = run.events
    if capability is None:
        granularity = 1 if device_memory is None else SMALLEST
        peak = find_peak(record, granularity, whole=True)
        total = capacity = None
        if device_memory is not None:  # of a Mac
            total, capacity = device_memory.add_up(peak.bytes), device_memory.capacity
        return RehearsedMemory(
            device, run, peak, _find_turn(run, peak), total=total, capacity=capacity,
            growth=find_growth(run, granularity, capacity), notes=record.notes,
        )  # fmt: skip
    peak = find_peak(record, SMALLEST, whole=True)
    memory = RehearsedMemory(device, run, peak, _find_turn(run, peak))
    context = find_context(capability)
    capacity = shortage = limits = None
    if device_memory is not None:
        capacity = device_memory.capacity
        context = device_memory.context
        limits = capacity[0] - context[1], capacity[1] - context[0]
    allocator = replay_allocator(record.events)
    is_tight = limits is not None and allocator.most_reserved > limits[0]
    if device_memory is not None and limits is not None and is_tight:
        shortage = _find_shortage(run, device_memory)
        if shortage is None:  # there is room once free segments are given back
            allocator = CachingAllocator(limits[0])
            for event in record.events:
                replay_event(allocator, event)
    return replace(
        memory,
        allocated=allocator.most_allocated,
        reserved=allocator.most_reserved,
        total=TotalBytes(allocator.most_reserved, context),
        capacity=capacity,
        shortage=shortage,
        growth=find_growth(run, SMALLEST, limits),
        notes=(*record.notes, *list_library_notes(record, capability)),
    )


def _find_shortage(run: RecordedRun, device_memory: DeviceMemory) -> Shortage | None:
    """Return where the device is full, surely or else perhaps."""
    capacity = device_memory.capacity
    least, most = device_memory.context
    for size, context in ((capacity[1], least), (capacity[0], most)):
        place, needed = _find_failure(run, size - context)
        if place >= 0:
            both = needed + least, needed + most
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


def count_needless(memory: RehearsedMemory, shortage: Shortage) -> int:
    """Return the bytes of activations that evaluations have made and that live."""
    record = memory.run.events
    live: dict[int, int] = {}
    for event in record.events[: shortage.event]:
        if event.action == FREE:
            live.pop(event.storage, None)
        elif event.action == ALLOCATE and event.phase == EVALUATION:
            live[event.storage] = event.bytes
    return sum(
        size
        for number, size in live.items()
        if record.storages[number].kind == ACTIVATIONS
    )
