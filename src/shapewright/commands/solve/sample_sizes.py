"""Choose the sizes for the runs: few, far apart and never in step, and at the edges of
a demand before it is printed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import isqrt

from shapewright.commands.solve.runs import Runner, SizedRun
from shapewright.sizes.expressions import Expression

STEPS = (2, 4, 8, 16, 32, 7, 14, 28, 3, 6, 5, 12, 24, 10, 9, 64, 56, 48, 128)
WIDE = 64
"""Steps up or down that are tried one after the other, doubling."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """Sizes `base + n*step`; `low` and `high` are its ends, if they were found."""

    base: int
    step: int
    low: int | None = None
    high: int | None = None

    def at(self, offset: int) -> int:
        """Return the size `offset` steps above the base, wrapping around at the
        ends.
        """
        if not self.step:
            return self.base
        if self.high is None:
            return self.base + offset * self.step
        low = self.low if self.low is not None else self.base
        count = (self.high - low) // self.step + 1
        return low + ((self.base - low) // self.step + offset) % count * self.step

    @property
    def small(self) -> int:
        """Return a size well below the base, or the smallest."""
        if self.low is not None:
            return self.low
        if self.step == 1:
            return max(1, self.base // 2)
        return max(self.step, self.base - self.step) if self.step else self.base

    @property
    def large(self) -> int:
        """Return a size far above the base, or the largest."""
        if self.high is not None:
            return self.high
        return self.base + self.step * 190


def _scan_lattice(runner: Runner, base: SizedRun, names: Sequence[str]) -> Lattice:
    """Return a lattice around the sizes of a run, changing all given letters
    together.
    """
    size = base.sizes[names[0]]

    def takes(way: int) -> bool:
        moved = {name: base.sizes[name] + way for name in names}
        least = min(moved.values())
        return least >= 1 and runner.at({**base.sizes, **moved}).accepted

    if takes(1) or takes(-1):
        low, high = _find_end(takes, -1), _find_end(takes, 1)
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


def _find_end(takes: Callable[[int], bool], way: int) -> int | None:
    """Return how far sizes are accepted in a direction, or None if no end was found."""
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


def _scan_apart(
    runner: Runner, base: SizedRun, names: Sequence[str]
) -> dict[str, Lattice]:
    """Return a lattice for every letter; letters of equal size are first changed
    together.
    """
    lattices: dict[str, Lattice] = {}
    for size in dict.fromkeys(base.sizes[name] for name in names):
        equal = [name for name in names if base.sizes[name] == size]
        lattice = _scan_lattice(runner, base, equal) if len(equal) > 1 else None
        for name in equal:
            alone = lattice is not None and _is_independent(runner, base, name, lattice)
            lattices[name] = (
                lattice if alone and lattice else _scan_lattice(runner, base, [name])
            )
    return lattices


def _is_independent(
    runner: Runner, base: SizedRun, name: str, lattice: Lattice
) -> bool:
    """Return whether a letter is accepted and refused alone as it is together with
    others.
    """
    if not lattice.step:
        return False

    def takes(size: int) -> bool:
        return size >= 1 and runner.at({**base.sizes, name: size}).accepted

    ends = [end for end in (lattice.low, lattice.high) if end is not None]
    inside = [*ends, lattice.base + lattice.step][:2]
    beyond = [] if lattice.high is None else [lattice.high + lattice.step]
    return all(map(takes, inside)) and not any(map(takes, beyond))


def _can_step(runner: Runner, base: SizedRun, steps: Mapping[str, int]) -> bool:
    """Return whether the program accepts sizes one step larger for all letters."""
    sizes = {name: size + steps[name] for name, size in base.sizes.items()}
    return runner.at(sizes).accepted


def _build_lattices(base: SizedRun, steps: Mapping[str, int]) -> dict[str, Lattice]:
    """Return unbounded lattices around the sizes of a run."""
    return {name: Lattice(size, steps[name]) for name, size in base.sizes.items()}


BATCHES = frozenset({"B", "N", "batch", "bs", "b", "n"})
"""Letters that are taken for a batch: small sizes do."""

SIDES = (224, 32, 256, 128, 96, 64, 28, 384, 299, 512, 16, 48, 160, 320, 1024)
LENGTHS = (64, 128, 32, 8, 256, 100, 512, 1024, 4, 2, 1, 16000, 4096)

SPREAD = (0, 1, 3, 6, 11, 19, 32, 57, 90)
"""Steps from the first size: all residues of small strides, and far enough."""

SMALL = (0, 1, 3, 2, 5, 6, 4, 9, 7)
"""The same for a batch."""

FAR = 14
"""Steps to a large batch."""


def is_batch(letter: str) -> bool:
    """Return whether a letter stands for a batch, judging by its name."""
    return letter in BATCHES


def find_first_accepted(runner: Runner, most: int) -> SizedRun:
    """Return a run that reaches its end, else the first that was tried.

    First the usual sizes, then others for all letters that are no batch.
    """
    first = runner.at(runner.usual)
    if first.accepted:
        return first
    for sizes in iter_other_sizes(runner.usual):
        if runner.count >= most:
            break
        run = runner.at(sizes)
        if run.accepted:
            return run
    return first


def iter_other_sizes(usual: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield other sizes to start from: of all letters but the batch together, then a
    batch of 1.
    """
    varied = [name for name in usual if not is_batch(name)]
    likely = LENGTHS if len(varied) == 1 and usual[varied[0]] <= 16 else SIDES
    for size in likely:
        yield {**usual, **dict.fromkeys(varied, size)}
    for name in usual:
        if is_batch(name):
            yield {**usual, name: 1}


def find_lattices(runner: Runner, base: SizedRun, most: int) -> dict[str, Lattice]:
    """Return a lattice for each letter, first trying one step further for all letters
    at once.
    """
    ones = dict.fromkeys(runner.free, 1)
    if _can_step(runner, base, ones):
        return _build_lattices(base, ones)
    varied = [name for name in runner.free if not is_batch(name)]
    if len(varied) > 1:
        for step in STEPS:
            if runner.count >= most:
                break
            steps = {**ones, **dict.fromkeys(varied, step)}
            if _can_step(runner, base, steps):
                return _build_lattices(base, steps)
    return find_separate_lattices(runner, base)


def find_separate_lattices(runner: Runner, base: SizedRun) -> dict[str, Lattice]:
    """Return a lattice per letter, found one by one; a batch is tried once."""
    varied = [name for name in runner.free if not is_batch(name)]
    lattices = _scan_apart(runner, base, varied)
    for name in runner.free:
        if is_batch(name):
            more = {**base.sizes, name: base.sizes[name] + 1}
            wide = runner.at(more).accepted
            lattices[name] = (
                Lattice(base.sizes[name], 1)
                if wide
                else _scan_lattice(runner, base, [name])
            )
    return {name: lattices[name] for name in runner.free}


def spread_sizes(lattices: Mapping[str, Lattice]) -> Iterator[dict[str, int]]:
    """Yield sizes for the first fit: every letter in an order of its own."""
    for at in range(1, len(SPREAD)):
        sizes = {}
        for turn, (name, lattice) in enumerate(lattices.items()):
            offsets = SMALL if is_batch(name) else SPREAD
            nth = 1 + (at - 1 + 3 * turn) % (len(offsets) - 1)
            sizes[name] = lattice.at(offsets[nth])
        yield sizes


def find_distinguishing_sizes(
    rivals: Sequence[tuple[Expression, Expression]],
    base: Mapping[str, int],
    lattices: Mapping[str, Lattice],
    low: Mapping[str, int],
    high: Mapping[str, int],
) -> dict[str, int] | None:
    """Return sizes at which as many of these formulas as possible differ from their
    rivals, or None.
    """
    chosen = dict(base)
    differ = False
    for name in base:
        if not lattices[name].step:
            continue
        mine = [pair for pair in rivals if name in pair[0].letters()]
        best, most = base[name], 0
        for size in _choose_likely_sizes(low[name], high[name], lattices[name].step):
            sizes = {**base, name: size}
            count = sum(_is_different(pair, sizes) for pair in mine)
            if count > most:
                best, most = size, count
        chosen[name] = best
        differ = differ or most > 0
    return chosen if differ else None


def _choose_likely_sizes(low: int, high: int, step: int) -> list[int]:
    """Return sizes within bounds: all of the first ones, then fewer."""
    near = list(range(low, min(high, low + 64 * step) + 1, step))
    far = range(low, high + 1, step * max(1, (high - low) // (48 * step)))
    return list(dict.fromkeys([*near, *far]))


def _is_different(
    pair: tuple[Expression, Expression], sizes: Mapping[str, int]
) -> bool:
    """Return whether two formulas have different values; False if they cannot be
    evaluated.
    """
    try:
        return pair[0].value(sizes) != pair[1].value(sizes)
    except KeyError:  # a letter that stands for a size without a formula
        return False


Sizes = Mapping[str, int]

ENDS = 3
"""Allowed sizes that are tried at each end, and on each side of the witness."""
BETWEEN = 6
"""Allowed sizes that are tried between the ends."""
REFUSED = 6
"""Refused sizes that are tried."""
BEYOND = (1, 2, 4, 8)
"""Steps beyond the end of what is allowed: only the bound refuses there."""
MIXED = 32
"""Sizes that are tried with each letter on its own."""
OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)
"""Steps from an allowed size to others, which a demand of a layer's rounding takes."""


def iter_edge_sizes(
    takes: Callable[[Sizes], bool],
    witness: Sizes,
    groups: Sequence[tuple[str, ...]],
    highest: Callable[[str], int],
) -> Iterator[dict[str, int]]:
    """Yield sizes at which a demand is likeliest to be wrong, alternating between the
    groups.

    Example: for multiples of 32 from 112 to 672, taken at 224, these are 128, 160, 192,
    256, 288, 640, 672 and more, and of what is refused 96, 704, 240, 223, 225.

    A group is letters that move together, such as both sides of an image.
    """
    ways = [_iter_group_sizes(takes, witness, group, highest) for group in groups]
    ways.append(_iter_combined_sizes(takes, witness, highest))
    while ways:
        for way in list(ways):
            sizes = next(way, None)
            if sizes is None:
                ways.remove(way)
            else:
                yield sizes


def _iter_group_sizes(
    takes: Callable[[Sizes], bool],
    witness: Sizes,
    group: tuple[str, ...],
    highest: Callable[[str], int],
) -> Iterator[dict[str, int]]:
    """Yield allowed sizes of a group first, then refused sizes."""
    top = min(map(highest, group))
    moved = {size: {**witness, **dict.fromkeys(group, size)} for size in range(1, top)}
    allowed = [size for size, sizes in moved.items() if takes(sizes)]
    known = set(allowed)
    refused = [size for size in moved if size not in known]
    now = witness[group[0]]
    beyond = [size for size in _get_sizes_beyond(allowed) if size in moved]
    for size in dict.fromkeys(
        [
            *_get_edge_sizes(allowed, now),
            *beyond,
            *_get_sizes_beside(refused, allowed, now),
        ]
    ):
        yield moved[size]


def _find_step(allowed: Sequence[int]) -> int:
    """Return the usual distance between allowed sizes."""
    gaps = Counter(b - a for a, b in pairwise(allowed))
    return gaps.most_common(1)[0][0] if gaps else 1


def _get_sizes_beyond(allowed: Sequence[int]) -> list[int]:
    """Return sizes below and above all allowed sizes, in steps of their usual
    distance.
    """
    if not allowed:
        return []
    step = _find_step(allowed)
    above = [allowed[-1] + step * count for count in BEYOND]
    above += [allowed[-1] // step * 4 * step]
    return [*above, *(allowed[0] - step * count for count in BEYOND)]


def _iter_combined_sizes(
    takes: Callable[[Sizes], bool], witness: Sizes, highest: Callable[[str], int]
) -> Iterator[dict[str, int]]:
    """Yield small and large sizes of all letters in every combination, then random
    ones.

    A limit of one letter may be one of a product of two, which shows only where the
    other one is small or large, and neither is refused for anything else.
    """
    steps, ends = {}, {}
    for name in witness:
        every = range(1, highest(name))
        allowed = [size for size in every if takes({**witness, name: size})]
        if len(allowed) > 1 and not is_batch(name):
            steps[name], ends[name] = _find_step(allowed), (allowed[0], allowed[-1])
    if len(ends) in (2, 3):
        for corner in product(*ends.values()):
            yield {**witness, **dict(zip(ends, corner, strict=True))}
    draw = random.Random(1)
    for _ in range(MIXED if len(ends) > 1 else 0):
        sizes = dict(witness)
        for name in sizes:
            if name in steps:
                counts = max(isqrt(highest(name) // steps[name]), 1)
                count = draw.randint(1, counts) * draw.randint(1, counts)
                sizes[name] = witness[name] % steps[name] + count * steps[name]
            elif is_batch(name) and takes({**witness, name: 1}):
                sizes[name] = draw.randint(1, 8)
        yield sizes


def _get_edge_sizes(allowed: Sequence[int], now: int) -> list[int]:
    """Return the nearest allowed sizes on both sides, those at the ends, and some in
    between.
    """
    above = [size for size in allowed if size > now][:ENDS]
    below = [size for size in allowed if size < now][-ENDS:][::-1]
    step = max(len(allowed) // BETWEEN, 1)
    ends = [*allowed[:ENDS], *allowed[-2:]]
    return [*above, *below, *ends, *allowed[::step]]


def _get_sizes_beside(
    refused: Sequence[int], allowed: Sequence[int], now: int
) -> list[int]:
    """Return refused sizes halfway between allowed sizes, and next to them."""
    known = set(refused)
    around = sorted(allowed, key=lambda size: abs(size - now))[:ENDS]
    halves = [(a + b) // 2 for a, b in pairwise(around)]
    halves += [(3 * a + b) // 4 for a, b in pairwise(around)]
    halves += [now // 2, now // 4, 3 * now // 2]
    ends = [allowed[0] - 1, allowed[-1] + 1] if allowed else []
    near = [size + offset for size in around[:2] for offset in OFFSETS]
    kept = [size for size in (*halves, *ends, *near) if size in known]
    return list(dict.fromkeys(kept))[: REFUSED + len(OFFSETS)]
