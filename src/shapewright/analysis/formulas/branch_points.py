"""Find the sizes at which a program branches: where a comparison of sizes changes its
outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.formulas.call_formulas import Dims
from shapewright.program.spans import Span
from shapewright.record.guards import (
    Guard,
    Guards,
    SizeRead,
    evaluate_guard,
    iter_reads,
)
from shapewright.sizes.expressions import Expression

Sizes = Mapping[str, int]
Outcome = Callable[[Sizes], bool]

NEAR, FAR = 12, 16
"""Sizes at the beginning of a range that are looked at one by one, and beyond."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A comparison of sizes in the program, as a function of the letters.

    A slice has no span but the number of its call.
    """

    letters: frozenset[str]
    span: Span | None
    periodic: bool
    outcome: Outcome
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The first size of a letter at which a comparison's outcome changes."""

    letter: str
    size: int
    turn: Turn


def find_turns(
    free: Collection[str],
    known: Mapping[int, Dims],
    guards: Guards,
    slices: Iterable[tuple[int, int, tuple[int, ...]]],
) -> list[Turn]:
    """Return the comparisons, and the slices with a constant end, that depend on the
    letters.

    `known` are the formulas of tensors by the numbers that reads have; a slice is the
    number of its call, that of the tensor it cuts, and its constant ends.
    """
    turns: dict[Any, Turn] = {}
    known = _Free(free, known)
    for guard in guards.guards:
        formulas = {read: _find_formula(read, known) for read in _iter_reads(guard)}
        letters = frozenset[str]().union(
            *(formula.letters() for formula in formulas.values() if formula is not None)
        )
        if letters:
            shown = str(guard.left), guard.operator, str(guard.right)
            key: Any = (guard.span, tuple(map(str, formulas.values())), shown[1:])
            periodic = any("%" in side for side in shown)
            turns.setdefault(
                key,
                Turn(letters, guard.span, periodic, _build_outcome(guard, formulas)),
            )
    for call, tensor, ends in slices:
        for formula in known.get(tensor, ()):
            for end in ends if formula is not None and formula.letters() else ():
                if formula is not None:
                    turn = Turn(
                        formula.letters(),
                        None,
                        False,
                        _build_end_test(formula, end),
                        call,
                    )
                    turns.setdefault((str(formula), end), turn)
    return list(turns.values())


class _Free(Mapping[int, Dims]):
    """The formulas of tensors, as far as they depend on letters of the inputs alone."""

    def __init__(self, free: Collection[str], known: Mapping[int, Dims]) -> None:
        self.free = set(free)
        self.known = known

    def __getitem__(self, tensor: int) -> Dims:
        dims = self.known[tensor]
        return tuple(
            e if e is not None and e.letters() <= self.free else None for e in dims
        )

    def __iter__(self) -> Iterator[int]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


def _iter_reads(guard: Guard) -> Iterator[SizeRead]:
    """Yield every size that a comparison read."""
    yield from iter_reads(guard.left, guard.right)


def _find_formula(read: SizeRead, known: Mapping[int, Dims]) -> Expression | None:
    """Return the formula of a size that was read, or None."""
    dims = known.get(read.tensor, ())
    return dims[read.dim] if -len(dims) <= read.dim < len(dims) else None


def _build_outcome(
    guard: Guard, formulas: Mapping[SizeRead, Expression | None]
) -> Outcome:
    """Return the outcome of a comparison as a function of the sizes of the letters."""

    def outcome(sizes: Sizes) -> bool:
        values = {
            read: formula.value(sizes)
            for read, formula in formulas.items()
            if formula is not None
        }
        try:
            return evaluate_guard(guard, values)
        except (ArithmeticError, ValueError):
            return guard.outcome

    return outcome


def _build_end_test(formula: Expression, end: int) -> Outcome:
    """Return a function of the letters' sizes that reports whether a size exceeds the
    constant end of a slice.
    """

    def outcome(sizes: Sizes) -> bool:
        return formula.value(sizes) > end

    return outcome


def find_points(
    turn: Turn,
    base: Sizes,
    low: Sizes,
    high: Sizes,
    steps: Sizes,
    fine: int = 0,
) -> list[Point]:
    """Find where a comparison's outcome changes within a range, changing one letter at
    a time.

    Of a periodic one only the first size is told that comes out unlike the base's.
    Every size is looked at where there are no more than `fine`.
    """
    points: list[Point] = []
    for letter in sorted(turn.letters & set(base)):
        step = max(steps[letter], 1)
        sizes: Sequence[int] = range(low[letter], high[letter] + 1, step)
        if len(sizes) > fine:
            sizes = _build_grid(low[letter], high[letter], step)
        outcomes = [turn.outcome({**base, letter: size}) for size in sizes]
        if turn.periodic:
            usual = turn.outcome(base)
            other = [s for s, out in zip(sizes, outcomes, strict=True) if out != usual]
            points += [Point(letter, other[0], turn)] if other else []
            continue
        for at in range(1, len(sizes)):
            if outcomes[at] != outcomes[at - 1]:
                first = _find_edge(
                    turn, {**base}, letter, sizes[at - 1], sizes[at], step
                )
                points.append(Point(letter, first, turn))
    return points


def _find_edge(
    turn: Turn, base: dict[str, int], letter: str, below: int, above: int, step: int
) -> int:
    """Return the first size at which the outcome is the same as at `above`."""
    wanted = turn.outcome({**base, letter: above})
    while above - below > step:
        middle = below + (above - below) // (2 * step) * step
        if turn.outcome({**base, letter: middle}) == wanted:
            above = middle
        else:
            below = middle
    return above


def _build_grid(low: int, high: int, step: int) -> list[int]:
    """Return sizes to try within a range: the first few, the last, and some in
    between.
    """
    near = range(low, min(high, low + NEAR * step) + 1, step)
    wide = step * max(1, (high - low) // (FAR * step))
    return sorted({*near, *range(low, high + 1, wide), high})


def find_unseen(
    points: Sequence[Point], sampled: Sequence[Sizes], steps: Sizes
) -> list[Point]:
    """Return the points for which no run covers the size on one of the two sides."""
    left = []
    for point in points:
        seen = {sizes[point.letter] for sizes in sampled}
        step = max(steps[point.letter], 1)
        wanted = (
            {point.size} if point.turn.periodic else {point.size, point.size - step}
        )
        if not wanted <= seen:
            left.append(point)
    return left
