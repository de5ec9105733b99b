"""The steps of `memory` as a snapshot of torch's allocator, for pytorch.org/memory_viz.

The form is that of `torch.cuda.memory._snapshot()`, which `torch.cuda._memory_viz` and
the page read: the segments with their blocks at the end, and all that happened before.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from shapewright.record.memory import (
    ACTIVATIONS,
    ALLOCATE,
    BUFFERS,
    CACHE,
    FREE,
    GRADIENTS,
    INPUTS,
    NEW_SEGMENT,
    OPTIMIZER,
    PARAMETERS,
    TEMPORARY,
    WORKSPACES,
    AllocatorAction,
    Memory,
)

PROTOCOL = 4
"""The latest protocol of pickles that the page reads."""

CATEGORIES = {
    PARAMETERS: "parameter",
    BUFFERS: "parameter",
    GRADIENTS: "gradient",
    OPTIMIZER: "optimizer_state",
    ACTIVATIONS: "activation",
    INPUTS: "input",
    CACHE: "autograd_detail",
    TEMPORARY: "temporary",
    WORKSPACES: "temporary",
}
"""The names that torch's profiler has for kinds; the page has a colour for each."""

LARGE_SEGMENT = 2 << 20
"""Segments of more bytes are of the pool for large blocks."""


def write_snapshot(memory: Memory) -> bytes:
    """Return the snapshot as `torch.cuda.memory._dump_snapshot` writes it."""
    return pickle.dumps(build_snapshot(memory), PROTOCOL)


def build_snapshot(memory: Memory) -> dict[str, Any]:
    """Return the dictionary of a snapshot; all is on device 0 and its usual stream."""
    return {
        "shapewright": memory.target,
        "segments": list(_list_segments(memory)),
        "device_traces": [list(_list_actions(memory))],
        "allocator_settings": {},
        "external_annotations": [],
    }


def _list_actions(memory: Memory) -> Iterator[dict[str, Any]]:
    """Yield what the allocator did; a block is free as soon as that is requested."""
    for action, storage, address, size in memory.allocator:
        entry: dict[str, Any] = {
            "addr": address,
            "size": size,
            "stream": 0,
            "device": 0,
        }
        if action == NEW_SEGMENT:
            # The page fails on a snapshot of which no entry is "unknown".
            yield {"action": "segment_alloc", **entry, "frames": [],
                   "category": "unknown"}  # fmt: skip
            continue
        entry["frames"] = _list_frames(memory, storage)
        entry["category"] = CATEGORIES[memory.events.storages[storage].kind]
        if action == ALLOCATE:
            yield {"action": "alloc", **entry}
        else:
            yield {"action": "free_requested", **entry}
            yield {"action": "free_completed", **entry}


def _list_frames(memory: Memory, storage: int) -> list[dict[str, Any]]:
    """Return the stack of an allocation: the operator at its line, then its module."""
    origin = memory.events.storages[storage]
    frames = [
        {
            "name": f"{origin.op or origin.kind} ({origin.kind})",
            "filename": origin.file or "(no line)",
            "line": origin.line,
        }
    ]
    if origin.module:
        frames.append({"name": origin.module, "filename": "(module)", "line": 0})
    return frames


def _list_segments(memory: Memory) -> Iterator[dict[str, Any]]:
    """Yield the segments as they are at the end, each with its blocks in order."""
    live: dict[int, AllocatorAction] = {}
    segments: list[tuple[int, int]] = []
    for entry in memory.allocator:
        action, _, address, size = entry
        if action == NEW_SEGMENT:
            segments.append((address, size))
        elif action == ALLOCATE:
            live[address] = entry
        elif action == FREE:
            del live[address]
    addresses = sorted(live)
    for start, whole in sorted(segments):
        inside = [live[a] for a in addresses if start <= a < start + whole]
        blocks = list(_list_blocks(memory, start, whole, inside))
        active = [b for b in blocks if b["state"] == "active_allocated"]
        allocated = sum(block["size"] for block in active)
        yield {
            "device": 0,
            "address": start,
            "total_size": whole,
            "allocated_size": allocated,
            "active_size": allocated,
            "requested_size": sum(block["requested_size"] for block in active),
            "stream": 0,
            "segment_type": "large" if whole > LARGE_SEGMENT else "small",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": blocks,
        }


def _list_blocks(
    memory: Memory, start: int, whole: int, inside: list[AllocatorAction]
) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a segment, allocated and free, without a gap."""
    at = start
    for _, storage, address, size in inside:
        if address > at:
            yield _describe_free(at, address - at)
        block = -(-size // 512) * 512
        yield {
            "address": address,
            "size": block,
            "requested_size": size,
            "state": "active_allocated",
            "frames": _list_frames(memory, storage),
        }
        at = address + block
    if at < start + whole:
        yield _describe_free(at, start + whole - at)


def _describe_free(address: int, size: int) -> dict[str, Any]:
    return {
        "address": address,
        "size": size,
        "requested_size": 0,
        "state": "inactive",
        "frames": [],
    }
