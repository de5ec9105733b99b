"""Torch's caching allocator, replayed, against cases worked out by hand."""

from __future__ import annotations

import pytest

from shapewright.analysis.memory.caching_allocator import (
    CachingAllocator,
    compute_segment_size,
    replay_allocator,
)
from shapewright.record.memory import ALLOCATE, FREE, RESIZE, Event

MIB = 1 << 20


@pytest.mark.parametrize(
    ("size", "segment"),
    [
        (512, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 512, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 512, 12 * MIB),
        (33 * MIB, 34 * MIB),
    ],
)
def test_sizes_of_segments(size: int, segment: int) -> None:
    assert compute_segment_size(size) == segment


def test_a_byte_takes_512_in_a_segment_of_2_mib() -> None:
    allocator = CachingAllocator()
    allocator.allocate(0, 1)
    allocator.allocate(1, 0)  # nothing takes nothing
    assert (allocator.allocated, allocator.reserved) == (512, 2 * MIB)


def test_small_blocks_share_a_segment_until_it_is_full() -> None:
    allocator = CachingAllocator()
    for number in range(4):
        allocator.allocate(number, MIB // 2)
    assert allocator.reserved == 2 * MIB
    allocator.allocate(4, 512)
    assert allocator.reserved == 4 * MIB


def test_a_large_block_is_split_only_if_more_than_1_mib_is_left() -> None:
    allocator = CachingAllocator()
    allocator.allocate(0, 20 * MIB)
    allocator.release(0)
    allocator.allocate(1, 19 * MIB)  # 1 MiB is left: the whole block is taken
    assert allocator.allocated == 20 * MIB
    allocator.release(1)
    allocator.allocate(2, 19 * MIB - 512)
    assert allocator.allocated == 19 * MIB - 512
    assert allocator.reserved == 20 * MIB


def test_the_smallest_block_that_fits_is_taken() -> None:
    allocator = CachingAllocator()
    allocator.allocate(0, 40 * MIB)
    allocator.allocate(1, 12 * MIB)
    allocator.release(0)
    allocator.release(1)
    allocator.allocate(2, 12 * MIB)
    allocator.allocate(3, 40 * MIB)
    assert allocator.reserved == 52 * MIB


def test_free_neighbours_are_joined() -> None:
    allocator = CachingAllocator()
    for number in range(3):
        allocator.allocate(number, 5 * MIB)  # three of a segment of 20 MiB
    for number in (0, 2, 1):
        allocator.release(number)
    allocator.allocate(3, 18 * MIB)
    assert allocator.reserved == 20 * MIB
    assert allocator.allocated == 20 * MIB - 2 * MIB


def test_a_hole_between_blocks_is_not_enough() -> None:
    """20 MiB are free, but not in one piece: fragmentation."""
    allocator = CachingAllocator()
    for number in range(4):
        allocator.allocate(number, 10 * MIB)
    allocator.release(0)
    allocator.release(2)
    allocator.allocate(4, 20 * MIB)
    assert allocator.reserved == 60 * MIB


def test_streams_have_pools_of_their_own() -> None:
    allocator = CachingAllocator()
    allocator.allocate(0, 10 * MIB, stream=0)
    allocator.release(0)
    allocator.allocate(1, 10 * MIB, stream=1)
    assert allocator.reserved == 20 * MIB


def test_small_and_large_blocks_do_not_mix() -> None:
    allocator = CachingAllocator()
    allocator.allocate(0, 12 * MIB)
    allocator.release(0)
    allocator.allocate(1, 1000)
    assert allocator.reserved == 14 * MIB


def test_events_are_replayed_in_order() -> None:
    events = [
        Event(ALLOCATE, 0, 12 * MIB, 1, "forward"),
        Event(ALLOCATE, 1, 12 * MIB, 1, "forward"),
        Event(FREE, 0, 0, 1, "backward"),
        Event(RESIZE, 1, 24 * MIB, 1, "backward"),
        Event(ALLOCATE, 2, 12 * MIB, 1, "backward"),
    ]
    allocator = replay_allocator(events)
    assert allocator.reserved == 48 * MIB
    assert allocator.allocated == 36 * MIB
    assert allocator.most_allocated == 36 * MIB  # the old block goes when it is copied
