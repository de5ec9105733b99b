"""Replay torch's caching allocator for CUDA on the events of a run.

It follows `c10/cuda/CUDACachingAllocator.cpp` with its default settings. Sizes are
rounded up to 512 bytes. Up to 1 MiB comes from segments of 2 MiB, up to 10 MiB from
segments of 20 MiB, more from a segment of its own, rounded up to 2 MiB. The smallest
free block that is large enough is taken, split, and joined with its free neighbours
when it is freed again. Each stream has pools of its own. No segment is given back, as
long as the device has memory left; before an error all are that nothing lives in.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

from shapewright.record.memory import (
    ALLOCATE,
    FREE,
    NEW_SEGMENT,
    AllocatorAction,
    Event,
)

KIB, MIB = 1 << 10, 1 << 20

SMALLEST = 512
"""`kMinBlockSize`: sizes are rounded up to a multiple of it."""

SMALL = MIB
"""`kSmallSize`: the largest size that comes from small segments."""

SMALL_SEGMENT = 2 * MIB
"""`kSmallBuffer`."""

LARGE_SEGMENT = 20 * MIB
"""`kLargeBuffer`."""

LEAST_LARGE = 10 * MIB
"""`kMinLargeAlloc`: from here on a segment is made for the size."""

LAST_ADDRESS = 0x7F0000000000
"""Where the first segment ends, as on a device."""

LARGE_ROUNDING = 2 * MIB
"""`kRoundLarge`."""


def _round_size(size: int) -> int:
    """Return the size of the block for a request."""
    return max(SMALLEST, -(-size // SMALLEST) * SMALLEST)


def compute_segment_size(size: int) -> int:
    """Return the size of the segment that is asked of CUDA for a block."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < LEAST_LARGE:
        return LARGE_SEGMENT
    return -(-size // LARGE_ROUNDING) * LARGE_ROUNDING


@dataclass(slots=True, eq=False)
class _Block:
    """A part of a segment; `before` and `after` are its neighbours there."""

    segment: int
    start: int
    size: int
    pool: tuple[int, bool]
    is_free: bool = False
    before: _Block | None = None
    after: _Block | None = None

    @property
    def entry(self) -> _Entry:
        """Return the entry among the free blocks: of equal ones the lowest comes first,
        and CUDA places each segment below those before it.
        """
        return self.size, -self.segment, self.start, self


_Entry = tuple[int, int, int, _Block]
"""A free block behind what it is sorted by: its size, then its place."""


class DeviceFull(Exception):
    """Raised where no segment can be had, although all free ones were given back.

    `needed` is what would be reserved with it.
    """

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


class CachingAllocator:
    """The allocator's segments and blocks; `limit` is what it may reserve, if known.

    Example: after ``allocate(0, 3_000_000)``, `reserved` is 20 MiB and `allocated`
    3,000,320 bytes. `history` has its actions with addresses: those of the segments
    go down from `LAST_ADDRESS`, a device's own are not known.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.history: list[AllocatorAction] = []
        self.starts: list[int] = []
        self.requested: dict[int, int] = {}
        self.reserved = 0
        self.most_reserved = 0
        self.allocated = 0
        self.most_allocated = 0
        self.segments = 0
        self.live: dict[int, _Block] = {}
        self.free_blocks: dict[tuple[int, bool], list[_Entry]] = {}

    def allocate(self, storage: int, size: int, stream: int = 0) -> None:
        """Take a block for a storage; one of no bytes takes none."""
        if size == 0:
            return
        requested, size = size, _round_size(size)
        is_small = size <= SMALL
        pool = stream, is_small
        block = self._take_fitting(pool, size)
        if block is None:
            whole = compute_segment_size(size)
            if self.limit is not None and self.reserved + whole > self.limit:
                self._give_back()
                if self.reserved + whole > self.limit:
                    raise DeviceFull(self.reserved + whole)
            block = _Block(self.segments, 0, whole, pool)
            self.segments += 1
            self.starts.append(LAST_ADDRESS - self.reserved - whole)
            self.history.append((NEW_SEGMENT, -1, self.starts[-1], whole))
            self.reserved += whole
            self.most_reserved = max(self.most_reserved, self.reserved)
        left = block.size - size
        if left >= SMALLEST if is_small else left > SMALL:
            rest = _Block(
                block.segment, block.start + size, left, pool, True, block, block.after
            )
            if block.after is not None:
                block.after.before = rest
            block.after = rest
            block.size = size
            self._put(rest)
        block.is_free = False
        address = self.starts[block.segment] + block.start
        self.history.append((ALLOCATE, storage, address, requested))
        self.requested[storage] = requested
        self.live[storage] = block
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)

    def release(self, storage: int) -> None:
        """Free the block of a storage, and join it with its free neighbours."""
        block = self.live.pop(storage, None)
        if block is None:
            return
        address = self.starts[block.segment] + block.start
        self.history.append((FREE, storage, address, self.requested.pop(storage)))
        self.allocated -= block.size
        block.is_free = True
        before, after = block.before, block.after
        if before is not None and before.is_free:
            self._drop(before)
            before.size += block.size
            before.after = after
            if after is not None:
                after.before = before
            block = before
        if after is not None and after.is_free:
            self._drop(after)
            block.size += after.size
            block.after = after.after
            if after.after is not None:
                after.after.before = block
        self._put(block)

    def _give_back(self) -> None:
        """Give all segments back in which nothing lives, as before an error."""
        for pool, entries in self.free_blocks.items():
            kept = [e for e in entries if e[3].before or e[3].after]
            self.reserved -= sum(e[0] for e in entries) - sum(e[0] for e in kept)
            self.free_blocks[pool] = kept

    def _take_fitting(self, pool: tuple[int, bool], size: int) -> _Block | None:
        """Take the smallest free block of at least this size out of its pool."""
        entries = self.free_blocks.get(pool, [])
        place = bisect.bisect_left(entries, (size, -self.segments))
        return entries.pop(place)[3] if place < len(entries) else None

    def _put(self, block: _Block) -> None:
        bisect.insort(self.free_blocks.setdefault(block.pool, []), block.entry)

    def _drop(self, block: _Block) -> None:
        entries = self.free_blocks[block.pool]
        place = bisect.bisect_left(entries, block.entry)
        assert entries[place][3] is block
        del entries[place]


def replay_allocator(events: Iterable[Event], step: int = 0) -> CachingAllocator:
    """Return the allocator after all events, in their order.

    Its `most_allocated` is the most from the first event of a step on, as after
    `torch.cuda.reset_peak_memory_stats()`.
    """
    allocator, has_begun = CachingAllocator(), False
    for event in events:
        if not has_begun and event.step >= step:
            allocator.most_allocated, has_begun = allocator.allocated, True
        replay_event(allocator, event)
    return allocator


def replay_event(allocator: CachingAllocator, event: Event) -> None:
    """Let the allocator do what an event says.

    A storage that is resized is freed and allocated anew, as torch does; the new block
    is taken first.
    """
    if event.action == ALLOCATE:
        allocator.allocate(event.storage, event.bytes)
    elif event.action == FREE:
        allocator.release(event.storage)
    else:
        old = allocator.live.pop(event.storage, None)
        allocator.allocate(event.storage, event.bytes)
        if old is not None:
            new = allocator.live.pop(event.storage, None)
            allocator.live[event.storage] = old
            allocator.release(event.storage)
            if new is not None:
                allocator.live[event.storage] = new
