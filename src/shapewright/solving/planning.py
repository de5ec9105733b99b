"""Which sizes a program is run at: few, far apart, and never in step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapewright.dims.expression import Expression
from shapewright.solving.lattice import (
    STEPS,
    Lattice,
    apart,
    lattices,
    scanned,
    takes_step,
)
from shapewright.solving.running import Run, Runner

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
    """Whether a letter is taken for a batch."""
    return letter in BATCHES


def first_accepted(runner: Runner, most: int) -> Run:
    """A run that reaches its end, else the first that was tried.

    First the usual sizes, then others for all letters that are no batch.
    """
    first = runner.at(runner.usual)
    if first.accepted:
        return first
    for sizes in others(runner.usual):
        if runner.count >= most:
            break
        run = runner.at(sizes)
        if run.accepted:
            return run
    return first


def others(usual: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Other sizes to begin with, all letters together, then a batch of one."""
    varied = [name for name in usual if not is_batch(name)]
    likely = LENGTHS if len(varied) == 1 and usual[varied[0]] <= 16 else SIDES
    for size in likely:
        yield {**usual, **dict.fromkeys(varied, size)}
    for name in usual:
        if is_batch(name):
            yield {**usual, name: 1}


def lattices_of(runner: Runner, base: Run, most: int) -> dict[str, Lattice]:
    """The sizes of each letter that are tried: first all letters one step further."""
    ones = dict.fromkeys(runner.free, 1)
    if takes_step(runner, base, ones):
        return lattices(base, ones)
    varied = [name for name in runner.free if not is_batch(name)]
    if len(varied) > 1:
        for step in STEPS:
            if runner.count >= most:
                break
            steps = {**ones, **dict.fromkeys(varied, step)}
            if takes_step(runner, base, steps):
                return lattices(base, steps)
    return lattices_apart(runner, base)


def lattices_apart(runner: Runner, base: Run) -> dict[str, Lattice]:
    """The sizes of each letter, looked for one by one; a batch is tried once."""
    varied = [name for name in runner.free if not is_batch(name)]
    found = apart(runner, base, varied)
    for name in runner.free:
        if is_batch(name):
            more = {**base.sizes, name: base.sizes[name] + 1}
            wide = runner.at(more).accepted
            found[name] = (
                Lattice(base.sizes[name], 1) if wide else scanned(runner, base, [name])
            )
    return {name: found[name] for name in runner.free}


def spread(lattices: Mapping[str, Lattice]) -> Iterator[dict[str, int]]:
    """Sizes for the first fit: each letter in an order of its own."""
    for at in range(1, len(SPREAD)):
        sizes = {}
        for turn, (name, lattice) in enumerate(lattices.items()):
            offsets = SMALL if is_batch(name) else SPREAD
            nth = 1 + (at - 1 + 3 * turn) % (len(offsets) - 1)
            sizes[name] = lattice.at(offsets[nth])
        yield sizes


def telling_apart(
    rivals: Sequence[tuple[Expression, Expression]],
    base: Mapping[str, int],
    lattices: Mapping[str, Lattice],
    low: Mapping[str, int],
    high: Mapping[str, int],
) -> dict[str, int] | None:
    """Sizes at which most of these formulas differ from their rivals."""
    chosen = dict(base)
    differ = False
    for name in base:
        if not lattices[name].step:
            continue
        mine = [pair for pair in rivals if name in pair[0].letters()]
        best, most = base[name], 0
        for size in likely_sizes(low[name], high[name], lattices[name].step):
            sizes = {**base, name: size}
            count = sum(differs(pair, sizes) for pair in mine)
            if count > most:
                best, most = size, count
        chosen[name] = best
        differ = differ or most > 0
    return chosen if differ else None


def likely_sizes(low: int, high: int, step: int) -> list[int]:
    """Sizes within bounds: every one of the first, then fewer."""
    near = list(range(low, min(high, low + 64 * step) + 1, step))
    far = range(low, high + 1, step * max(1, (high - low) // (48 * step)))
    return list(dict.fromkeys([*near, *far]))


def differs(pair: tuple[Expression, Expression], sizes: Mapping[str, int]) -> bool:
    """Whether two formulas give two numbers; what cannot be worked out does not."""
    try:
        return pair[0].value(sizes) != pair[1].value(sizes)
    except KeyError:  # a letter that stands for a size without a formula
        return False
