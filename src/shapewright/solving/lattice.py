"""The sizes of one letter that a program takes, as far as a few runs show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shapewright.solving.running import Run, Runner

STEPS = (2, 4, 8, 16, 32, 7, 14, 28, 3, 6, 5, 12, 24, 10, 9, 64, 56, 48, 128)
WIDE = 64
"""Steps up or down that are tried one after the other, doubling."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """Sizes `base + n*step`; `low` and `high` are its ends where they were met."""

    base: int
    step: int
    low: int | None = None
    high: int | None = None

    def at(self, offset: int) -> int:
        """The size some steps above the base; within the ends, counted round."""
        if not self.step:
            return self.base
        if self.high is None:
            return self.base + offset * self.step
        low = self.low if self.low is not None else self.base
        count = (self.high - low) // self.step + 1
        return low + ((self.base - low) // self.step + offset) % count * self.step

    @property
    def small(self) -> int:
        """A size well below the base, or the least."""
        if self.low is not None:
            return self.low
        if self.step == 1:
            return max(1, self.base // 2)
        return max(self.step, self.base - self.step) if self.step else self.base

    @property
    def large(self) -> int:
        """A size far above the base, or the greatest."""
        if self.high is not None:
            return self.high
        return self.base + self.step * 190


def scanned(runner: Runner, base: Run, names: Sequence[str]) -> Lattice:
    """The sizes of some letters around those of a run, all of them moved together."""
    size = base.sizes[names[0]]

    def takes(way: int) -> bool:
        moved = {name: base.sizes[name] + way for name in names}
        least = min(moved.values())
        return least >= 1 and runner.at({**base.sizes, **moved}).accepted

    if takes(1) or takes(-1):
        low, high = end(takes, -1), end(takes, 1)
        return Lattice(
            size,
            1,
            None if low is None else size - low,
            None if high is None else size + high,
        )
    for step in STEPS:
        if takes(step):
            return Lattice(size, step)
    for step in STEPS:
        if takes(-step):
            return Lattice(size, step, None, size)
    return Lattice(size, 0, size, size)


def end(takes: Callable[[int], bool], way: int) -> int | None:
    """How far one way sizes are taken; None where no end was met."""
    far = 1
    while far <= WIDE:
        if not takes(way * far):
            break
        far *= 2
    else:
        return None
    good, bad = far // 2, far
    while bad - good > 1:
        middle = (good + bad) // 2
        if takes(way * middle):
            good = middle
        else:
            bad = middle
    return good


def apart(runner: Runner, base: Run, names: Sequence[str]) -> dict[str, Lattice]:
    """A lattice for each letter; those of equal size are first moved together."""
    made: dict[str, Lattice] = {}
    for size in dict.fromkeys(base.sizes[name] for name in names):
        equal = [name for name in names if base.sizes[name] == size]
        lattice = scanned(runner, base, equal) if len(equal) > 1 else None
        for name in equal:
            alone = lattice is not None and holds_alone(runner, base, name, lattice)
            made[name] = lattice if alone and lattice else scanned(runner, base, [name])
    return made


def holds_alone(runner: Runner, base: Run, name: str, lattice: Lattice) -> bool:
    """Whether a letter moved alone is taken and refused as with the others."""
    if not lattice.step:
        return False

    def takes(size: int) -> bool:
        return size >= 1 and runner.at({**base.sizes, name: size}).accepted

    ends = [each for each in (lattice.low, lattice.high) if each is not None]
    inside = [*ends, lattice.base + lattice.step][:2]
    beyond = [] if lattice.high is None else [lattice.high + lattice.step]
    return all(map(takes, inside)) and not any(map(takes, beyond))


def takes_step(runner: Runner, base: Run, steps: Mapping[str, int]) -> bool:
    """Whether the program takes all letters one step further."""
    sizes = {name: size + steps[name] for name, size in base.sizes.items()}
    return runner.at(sizes).accepted


def lattices(base: Run, steps: Mapping[str, int]) -> dict[str, Lattice]:
    """Endless lattices from a run's sizes."""
    return {name: Lattice(size, steps[name]) for name, size in base.sizes.items()}
