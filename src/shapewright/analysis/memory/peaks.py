"""The peak of a step and what lives at it, and the course of memory over the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapewright.record.memory import (
    ACTIVATIONS,
    BACKWARD,
    KINDS,
    Event,
    HeldBytes,
    MemoryEvents,
    Peak,
    StorageOrigin,
    TimelinePoint,
)

POINTS = 60
"""Stretches into which the course of a step is divided."""


def find_peak(record: MemoryEvents, granularity: int = 1, whole: bool = False) -> Peak:
    """Return the peak of the last step that ran, or of the `whole` run.

    Every byte that lives at it has a kind: the kinds add up to the bytes. `granularity`
    is what sizes are rounded up to: 512 by a GPU's allocator.
    """
    step = max((event.step for event in record.events), default=0)
    if record.error is None:
        step = min(step, record.steps)
    most, place = -1, -1
    for at, (event, total) in enumerate(_follow_totals(record.events, granularity)):
        if (whole or event.step == step) and total > most:
            most, place = total, at
    if place < 0:
        return Peak(0, "", dict.fromkeys(KINDS, 0), ())
    return describe_moment(record, place, granularity)


def describe_moment(record: MemoryEvents, place: int, granularity: int = 1) -> Peak:
    """Return what lives after the event at a place in the record."""
    sizes: dict[int, int] = {}
    for event in record.events[: place + 1]:
        sizes[event.storage] = _round_up(event.bytes, granularity)
    event = record.events[place]
    origin = record.storages[event.storage]
    return Peak(
        sum(sizes.values()), event.phase, _count_kinds(sizes, record.storages),
        _collect_lines(sizes, record.storages),
        origin.op, origin.module, origin.file, origin.line, place,
    )  # fmt: skip


def count_activations(record: MemoryEvents) -> dict[str, int]:
    """Return the bytes of activations by module, where backward has the most."""
    step, most, place = min(record.steps, 2), -1, -1
    for at, (event, total) in enumerate(_follow_totals(record.events, 1)):
        if event.step == step and event.phase == BACKWARD and total > most:
            most, place = total, at
    sizes = {event.storage: event.bytes for event in record.events[: place + 1]}
    held: dict[str, int] = {}
    for number, size in sizes.items():
        origin = record.storages[number]
        if origin.kind == ACTIVATIONS and size:
            held[origin.module] = held.get(origin.module, 0) + size
    return held


def _round_up(size: int, granularity: int) -> int:
    return -(-size // granularity) * granularity


def _follow_totals(
    events: Sequence[Event], granularity: int
) -> Iterator[tuple[Event, int]]:
    """Yield each event with the bytes that live after it."""
    sizes: dict[int, int] = {}
    total = 0
    for event in events:
        size = _round_up(event.bytes, granularity)
        total += size - sizes.get(event.storage, 0)
        sizes[event.storage] = size
        yield event, total


def _count_kinds(
    sizes: dict[int, int], storages: Sequence[StorageOrigin]
) -> dict[str, int]:
    kinds = dict.fromkeys(KINDS, 0)
    for number, size in sizes.items():
        kinds[storages[number].kind] += size
    return kinds


def _collect_lines(
    sizes: dict[int, int], storages: Sequence[StorageOrigin]
) -> tuple[HeldBytes, ...]:
    """Return the activations by line, the largest first; by module without a line."""
    lines: dict[tuple[str, int, str], int] = {}
    modules: dict[tuple[str, int, str], dict[str, None]] = {}
    saved: dict[tuple[str, int, str], dict[str, None]] = {}
    for number, size in sizes.items():
        origin = storages[number]
        if origin.kind != ACTIVATIONS or not size:
            continue
        key = origin.file, origin.line, "" if origin.file else origin.module
        lines[key] = lines.get(key, 0) + size
        modules.setdefault(key, {})[origin.module] = None
        saved.setdefault(key, {})[origin.saved_by] = None
    ordered = sorted(lines, key=lambda key: (-lines[key], key))
    return tuple(
        HeldBytes(
            lines[key], key[0], key[1], _join_paths(list(modules[key])),
            tuple(saved[key]),
        )
        for key in ordered
    )  # fmt: skip


def _join_paths(paths: Sequence[str]) -> str:
    """Return one path for several: ``blocks.*.mlp`` for ``blocks.0.mlp`` and others."""
    if len(paths) == 1:
        return paths[0]
    parts = [path.split(".") for path in paths]
    if len({len(part) for part in parts}) != 1:
        return ""
    columns = [set(column) for column in zip(*parts, strict=True)]
    return ".".join("*" if len(c) > 1 else next(iter(c)) for c in columns)


def draw_timeline(
    record: MemoryEvents, granularity: int = 1
) -> tuple[TimelinePoint, ...]:
    """Return the most bytes that live in each stretch of the last step.

    A stretch is a number of events, since there is no time without a device; no
    stretch goes across phases.
    """
    step = max((event.step for event in record.events), default=0)
    totals = [
        (event.phase, total)
        for event, total in _follow_totals(record.events, granularity)
        if event.step == step
    ]
    width = max(1, -(-len(totals) // POINTS))
    points: list[TimelinePoint] = []
    count = width
    for phase, total in totals:
        if count == width or points[-1].phase != phase:
            points.append(TimelinePoint(phase, total))
            count = 1
            continue
        count += 1
        points[-1] = TimelinePoint(phase, max(points[-1].bytes, total))
    return tuple(points)
