"""The record of a rehearsed script's memory: its peak, and where a device is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapewright.record.memory import (
    FITS,
    TIGHT,
    TOO_LARGE,
    HeldBytes,
    LargestBatch,
    MemoryEvents,
    Peak,
    TotalBytes,
    describe_batch,
    describe_peak,
    describe_total,
)


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """A turn of a loop, at the loop's line: `number` of `total`, None if unknown.

    `outer` is the number of the turn of the loop around it, from 1; 0 is none. `loader`
    is where the loader was constructed whose batch it has, of `batch` samples.
    """

    file: str
    line: int
    number: int
    total: int | None
    trains: bool
    outer: int = 0
    loader: tuple[str, int] | None = None
    batch: int = 0


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What a rehearsed script allocated and freed on its device.

    The step of an event is the number of its turn in `turns`, from 1; 0 is outside of
    all loops. `places` says for each storage which line of the program was running:
    in backward that of `backward()`. `ended_early` says why the script did not reach
    its end, if so.
    """

    events: MemoryEvents
    places: tuple[tuple[str, int], ...]
    turns: tuple[LoopTurn, ...]
    ended_early: str = ""

    def get_turn(self, step: int) -> LoopTurn | None:
        """Return the turn of an event's step, or None outside of all loops."""
        return self.turns[step - 1] if step > 0 else None


@dataclass(frozen=True, slots=True)
class Shortage:
    """Where a device has no room for the next allocation.

    `asked` bytes are asked for while `moment` says what lives; the process would then
    have `needed` bytes, at least and at most. `is_sure` says that not even the least
    fits; else it depends on what is not known. `event` is the place in the record.
    """

    file: str
    line: int
    phase: str
    turn: LoopTurn | None
    asked: int
    needed: tuple[int, int]
    moment: Peak
    is_sure: bool
    event: int
    op: str = ""


@dataclass(frozen=True, slots=True)
class Growth:
    """What each turn of the loop at a line leaves behind, `bytes` more than the last.

    `count` is how many turns a real run makes before it is freed, None if unknown:
    those of the loops around it too, where these keep it. At the turn `full_at` the
    device is full, in a straight line from the turns that ran; it may be from
    `full_from` on. Both are None where it never is. `held` are the lines that make what
    is kept.
    """

    file: str
    line: int
    bytes: int
    count: int | None
    full_at: int | None
    full_from: int | None
    held: tuple[HeldBytes, ...] = ()


@dataclass(frozen=True, slots=True)
class RehearsedMemory:
    """The memory that a rehearsed script takes on its device.

    `peak` is that of the whole run, in the turn `turn` of a loop. `allocated`,
    `reserved`, `total` and `capacity` are as in `Memory`; None where the device has no
    fixed memory. `growth` is of the turns that ran, and counts those that a real run
    makes. `largest_batch` is what fits of the loader whose batch has no room.
    """

    device: str
    run: RecordedRun
    peak: Peak
    turn: LoopTurn | None = None
    reserved: int | None = None
    total: TotalBytes | None = None
    capacity: tuple[int, int] | None = None
    shortage: Shortage | None = None
    growth: tuple[Growth, ...] = ()
    largest_batch: LargestBatch | None = None
    notes: tuple[str, ...] = ()
    allocated: int | None = None

    @property
    def verdict(self) -> str:
        """Return "fits", "tight", "does not fit", or nothing without a capacity."""
        if self.capacity is None:
            return ""
        if self.shortage is not None and self.shortage.is_sure:
            return TOO_LARGE
        if any(g.full_at is not None and g.count is not None for g in self.growth):
            return TOO_LARGE
        if self.shortage is not None or any(g.full_from for g in self.growth):
            return TIGHT
        return "" if self.run.ended_early else FITS

    def find_growth(self, loop: tuple[str, int] | None) -> Growth | None:
        """Return what the loop at a place leaves behind, if its turns keep anything."""
        for growth in self.growth:
            if (growth.file, growth.line) == loop:
                return growth
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, without its events."""
        return {
            "device": self.device,
            "complete": not self.run.ended_early,
            "tensors": self.peak.bytes,
            "allocated": self.allocated,
            "reserved": self.reserved,
            "total": None if self.total is None else describe_total(self.total),
            "capacity": None if self.capacity is None else list(self.capacity),
            "verdict": self.verdict,
            "peak": describe_peak(self.peak),
            "turn": _describe_turn(self.turn),
            "shortage": _describe_shortage(self.shortage),
            "largest_batch": describe_batch(self.largest_batch),
            "growth": [_describe_growth(growth) for growth in self.growth],
            "notes": list(self.notes),
        }


def _describe_turn(turn: LoopTurn | None) -> dict[str, Any] | None:
    if turn is None:
        return None
    return {
        "file": turn.file,
        "line": turn.line,
        "number": turn.number,
        "total": turn.total,
        "trains": turn.trains,
    }


def _describe_shortage(shortage: Shortage | None) -> dict[str, Any] | None:
    if shortage is None:
        return None
    return {
        "file": shortage.file,
        "line": shortage.line,
        "phase": shortage.phase,
        "turn": _describe_turn(shortage.turn),
        "asked": shortage.asked,
        "needed": list(shortage.needed),
        "live": describe_peak(shortage.moment),
        "sure": shortage.is_sure,
        "op": shortage.op,
    }


def _describe_growth(growth: Growth) -> dict[str, Any]:
    return {
        "file": growth.file,
        "line": growth.line,
        "bytes": growth.bytes,
        "count": growth.count,
        "full_at": growth.full_at,
        "full_from": growth.full_from,
        "held": [[held.file, held.line, held.bytes] for held in growth.held],
    }
