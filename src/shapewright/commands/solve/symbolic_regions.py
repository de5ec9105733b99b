"""Regions of sizes where a symbolic run holds, and the search for sizes outside all
regions.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise, product
from math import prod
from typing import TYPE_CHECKING, Any

from shapewright.commands.solve.runs import Runner, SizedRun, build_symbolic_arguments
from shapewright.sizes.conditions import (
    WORK,
    Compared,
    Condition,
    Decision,
    Every,
    Some,
    compare_formulas,
    decide_condition,
)
from shapewright.sizes.expressions import Expression
from shapewright.sizes.formula_division import carry_out_divisions
from shapewright.sizes.ranges import Ladder, Ladders
from shapewright.sizes.z3_solver import ask_solver

if TYPE_CHECKING:
    from shapewright.commands.solve.runs import Feeding
    from shapewright.runtime.symbolic_run import Symbolic, SymbolicGuard


Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Region:
    """Sizes for which a run's formulas hold: those in `box` where `live` hold.

    `reach` is the box without a greatest size where the run has none.
    """

    run: Symbolic
    box: Ladders
    live: tuple[Condition, ...]
    reach: Ladders

    @property
    def done(self) -> bool:
        """Return whether the program reached its end."""
        return self.run.refused is None

    @property
    def letters(self) -> frozenset[str]:
        """Return the letters in the live conditions."""
        return frozenset[str]().union(*(condition.letters() for condition in self.live))

    def holds(self, sizes: Sizes) -> bool:
        """Return whether sizes are in the region."""
        inside = all(self.box[name].holds(size) for name, size in sizes.items())
        return inside and all(condition.holds(sizes) for condition in self.live)

    def text(self) -> str:
        """Return the region as text: ``B >= 2, H >= 16``."""
        parts = [ladder.text(name) for name, ladder in self.reach.items()]
        return ", ".join([*parts, *map(str, self.live)])

    def first(self) -> dict[str, int]:
        """Return the smallest size of every letter."""
        return {name: ladder.low for name, ladder in self.box.items()}

    def equal(self, left: Expression, right: Expression) -> tuple[Decision, bool]:
        """Decide whether formulas are equal in the region, and whether also in its
        reach beyond.
        """
        if not self.live and compare_formulas(left, right, self.reach).holds:
            return Decision(True), True
        decision = compare_formulas(left, right, self.box)
        if decision.holds is False and decision.at is not None:
            at = {**self.first(), **decision.at}
            if self.holds(at):
                return Decision(False, at), False
            return self.everywhere(Compared(left, "==", right)), False
        if decision.holds is None:
            return ask_solver(Compared(left, "==", right), self.live, self.box), False
        return decision, False

    def everywhere(self, condition: Condition) -> Decision:
        """Decide whether a condition holds in the whole region."""
        known = decide_condition(condition, self.box)
        if known.holds:
            return known
        some = self.letters | condition.letters()
        box = {name: self.box[name] for name in some}
        ranges = _choose_telling_sizes(box, [], [*self.live, condition])
        if prod(map(len, ranges.values())) > WORK:
            return ask_solver(condition, self.live, self.box)
        for sizes in _iter_grid(ranges):
            if not condition.holds(sizes) and all(c.holds(sizes) for c in self.live):
                return Decision(False, {**self.first(), **sizes})
        return Decision(True)


def find_region(run: Symbolic, ladders: Ladders) -> Region | None:
    """Return the region of these sizes in which a run's formulas hold; None if it is
    empty or unknown.
    """
    box: dict[str, Ladder] = {}
    for name, ladder in ladders.items():
        size = run.sizes[name]
        if name in run.fixed:
            box[name] = Ladder(size, size)
        else:
            box[name] = _from_two(ladder)
        if not (box[name].count and ladder.holds(box[name].low)):
            return None
    live: list[Condition] = []
    for guard in run.guards:
        if guard.condition is None:
            return None
        live += [
            e for e in _split_conjunction(guard.condition) if not narrow_box(box, e)
        ]
    if any(ladder.count == 0 for ladder in box.values()):
        return None
    live = [_carry_out_divisions(condition, box) for condition in live]
    live = [
        condition for condition in live if not decide_condition(condition, box).holds
    ]
    return Region(
        run, box, tuple(live), box if live else _extend_box(run, box, ladders)
    )


def _split_conjunction(condition: Condition) -> list[Condition]:
    """Return the parts of a conjunction, or the condition itself."""
    if isinstance(condition, Every):
        return [part for inner in condition.parts for part in _split_conjunction(inner)]
    return [condition]


def _from_two(ladder: Ladder) -> Ladder:
    """Return the sizes from 2 upwards, as torch treats 0 and 1 separately."""
    below = max(0, -((ladder.low - 2) // ladder.step))
    return replace(ladder, low=ladder.low + below * ladder.step)


def narrow_box(box: dict[str, Ladder], condition: Condition) -> bool:
    """Apply a condition on one letter to the box if the result is a ladder again, and
    return whether it was applied.
    """
    if len(condition.letters()) != 1:
        return False
    (name,) = condition.letters()
    ladder = box[name]
    count = ladder.count
    if count is None or count > WORK:
        return False
    sizes = [size for size in ladder.first(count) if condition.holds({name: size})]
    if not sizes:
        box[name] = replace(ladder, high=ladder.low - 1)
        return True
    step = sizes[1] - sizes[0] if len(sizes) > 1 else ladder.step
    if any(b - a != step for a, b in pairwise(sizes)):
        return False
    box[name] = Ladder(sizes[0], sizes[-1], step)
    return True


def _carry_out_divisions(condition: Condition, box: Ladders) -> Condition:
    """Return the condition with its exact divisions by formulas carried out."""
    match condition:
        case Compared(left, relation, right):
            return Compared(
                carry_out_divisions(left, box),
                relation,
                carry_out_divisions(right, box),
            )
        case Every(parts):
            return Every(tuple(_carry_out_divisions(part, box) for part in parts))
        case Some(parts):
            return Some(tuple(_carry_out_divisions(part, box) for part in parts))
    return condition


def _extend_box(run: Symbolic, box: Ladders, ladders: Ladders) -> Ladders:
    """Return the box, unbounded for letters where every condition continues to hold."""
    wide_box = dict(box)
    for name, ladder in box.items():
        if name in run.fixed or ladder.high != ladders[name].high:
            continue  # a condition ended it
        wider = {**wide_box, name: ladder.endless}
        if all(_is_always_true(guard, wider) for guard in run.guards):
            wide_box = wider
    return wide_box


def _is_always_true(guard: SymbolicGuard, ladders: Ladders) -> bool:
    if guard.condition is None:
        return False
    return bool(
        decide_condition(_carry_out_divisions(guard.condition, ladders), ladders).holds
    )


def _find_uncovered(
    regions: Sequence[Region],
    ladders: Ladders,
    base: Sizes,
    wanted: Condition | None = None,
) -> tuple[dict[str, int] | None, bool]:
    """Return sizes in no region, and whether it is certain that there are none.

    With `wanted`, only sizes that satisfy it are looked at.
    """
    known = [live for region in regions for live in region.live]
    known += [] if wanted is None else [wanted]
    ranges = _choose_telling_sizes(ladders, [region.box for region in regions], known)
    sure = prod(map(len, ranges.values())) <= WORK
    tried = _iter_grid(ranges) if sure else _iter_samples(ranges)
    for sizes in tried:
        if wanted is not None and not wanted.holds({**base, **sizes}):
            continue
        if not any(region.holds(sizes) for region in regions):
            return {**base, **sizes}, sure
    return None, sure


def _choose_telling_sizes(
    ladders: Ladders, boxes: Sequence[Ladders], conditions: Sequence[Condition]
) -> dict[str, list[int]]:
    """Return sizes of each letter that represent all others: one per combination of
    outcomes.

    A letter that is compared with another one keeps all its sizes.
    """
    single = [atom for condition in conditions for atom in _collect_atoms(condition)]
    mixed = {name for e in single if len(e.letters()) > 1 for name in e.letters()}
    sizes = {}
    for name, ladder in ladders.items():
        every = ladder.first(ladder.count or 0)
        if name in mixed:
            sizes[name] = list(every)
            continue
        own = [condition for condition in single if condition.letters() == {name}]
        ways: dict[tuple[bool, ...], int] = {}
        for size in every:
            outcomes = [box[name].holds(size) for box in boxes]
            outcomes += [condition.holds({name: size}) for condition in own]
            ways.setdefault(tuple(outcomes), size)
        sizes[name] = sorted(ways.values())
    return sizes


def _collect_atoms(condition: Condition) -> list[Condition]:
    """Return the conditions that a condition is composed of."""
    parts = getattr(condition, "parts", None)
    if parts is None:
        return [condition]
    return [atom for part in parts for atom in _collect_atoms(part)]


def _iter_grid(ranges: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    """Yield every combination of some sizes."""
    for sizes in product(*ranges.values()):
        yield dict(zip(ranges, sizes, strict=True))


def _iter_samples(ranges: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    """Yield some combinations, including those of the ends."""
    draw = random.Random(0)
    for at in range(2_000):
        yield {
            name: draw.choice((choices[0], choices[-1]) if at < 64 else choices)
            for name, choices in ranges.items()
        }


def format_regions(regions: Sequence[Region]) -> list[str]:
    """Return the sizes of regions as text, merging adjacent regions."""
    boxes = [dict(region.reach) for region in regions if not region.live]
    joined = True
    while joined:
        joined = False
        for first, second in combinations(boxes, 2):
            both = _merge_boxes(first, second) or _merge_boxes(second, first)
            if both is not None:
                boxes = [box for box in boxes if box not in (first, second)] + [both]
                joined = True
                break
    texts = [", ".join(ladder.text(name) for name, ladder in b.items()) for b in boxes]
    return texts + [region.text() for region in regions if region.live]


def _merge_boxes(first: Ladders, second: Ladders) -> dict[str, Ladder] | None:
    """Merge two boxes if the second begins where the first ends, else return None."""
    differ = [name for name in first if first[name] != second[name]]
    if len(differ) != 1:
        return None
    low, high = first[differ[0]], second[differ[0]]
    step = high.step if high.count != 1 else low.step
    if low.high is None or low.high + step != high.low:
        return None
    if low.count != 1 and low.step != step:
        return None
    return {**first, differ[0]: Ladder(low.low, high.high, step)}


MOST_RUNS = 40
"""Symbolic runs for the formulas, and as many again for each demand."""


class Explorer:
    """Symbolic runs of a target, with plain runs beside them."""

    def __init__(
        self, target: Callable[..., Any], feeding: Feeding, seconds: float
    ) -> None:
        from shapewright.runtime.run_record import RunRequest

        self.target = target
        self.feeding = feeding
        self.seconds = seconds
        self.ends = time.monotonic() + seconds
        self.runner = Runner(target, feeding, RunRequest())
        self.runs: list[Symbolic] = []
        self.reason = ""
        self.kernels = False

    def plain(self, sizes: Mapping[str, int]) -> SizedRun:
        """Return the plain run at these sizes, which determines what is true there."""
        return self.runner.at(sizes)

    def run(self, sizes: Mapping[str, int]) -> Symbolic:
        """Make a symbolic run guided by these sizes."""
        from shapewright.runtime.symbolic_run import run_symbolically

        self.plain(sizes)  # so that the model has been looked at
        make = partial(build_symbolic_arguments, self.feeding)
        left = max(self.ends - time.monotonic(), 0.1)
        assert self.runner.taken is not None, "a plain run has taken it"
        run = run_symbolically(
            self.target, make, sizes, self.runner.taken, left, self.kernels
        )
        self.runs.append(run)
        return run

    def explore(
        self,
        ladders: Ladders,
        base: Mapping[str, int],
        regions: list[Region],
        wanted: Condition | None = None,
    ) -> str:
        """Run until all sizes are in a region; otherwise return why some sizes are in
        none.

        With `wanted`, only sizes that satisfy it matter.
        """
        if not regions and wanted is None and not self.reason:
            self.lead(base, ladders, regions)
        sizes: Mapping[str, int] | None = base
        for _ in range(MOST_RUNS):
            if self.reason:
                return self.reason
            if wanted is None and (fixing := _find_fixing(regions, ladders)):
                if self.kernels:
                    return fixing
                self.kernels = True
                regions.clear()
                self.lead(base, ladders, regions)
                continue
            sizes, sure = _find_uncovered(regions, ladders, base, wanted)
            if sizes is None:
                return "" if sure else "too many sizes to try each"
            if time.monotonic() > self.ends:
                return (
                    f"in {self.seconds:g} s: no time was left for {format_sizes(sizes)}"
                )
            self.lead(sizes, ladders, regions)
        return self.reason or f"{MOST_RUNS} symbolic runs did not come to all sizes"

    def lead(
        self, sizes: Mapping[str, int], ladders: Ladders, regions: list[Region]
    ) -> None:
        """Make a run guided by sizes, and add its region, or note why there is none."""
        run = self.run(sizes)
        if run.undecided is not None:
            late = time.monotonic() > self.ends
            within = f"in {self.seconds:g} s: " if late else ""
            self.reason = f"{within}{run.undecided}"
            return
        if self.plain(sizes).accepted is not (run.refused is None):
            difference = run.refused or "refuses nothing"
            self.reason = (
                f"torch's symbolic run differs at {format_sizes(sizes)}: {difference}"
            )
            return
        region = find_region(run, ladders)
        if region is not None and region.holds(sizes):
            regions.append(region)
            return
        unread = next((guard for guard in run.guards if guard.condition is None), None)
        if unread is not None:
            self.reason = f"torch's condition cannot be read: {unread.text}"
        else:
            self.reason = (
                f"torch's symbolic run does not hold at its own {format_sizes(sizes)}"
            )


def _find_fixing(regions: list[Region], ladders: Ladders) -> str:
    """Return where the program turns a letter with many sizes into a plain number."""
    for region in regions:
        for name, ladder in region.box.items():
            many = (ladders[name].count or 0) > MOST_RUNS
            if ladder.count != 1 or not many or name in region.run.fixed:
                continue
            for guard in region.run.guards:
                if guard.condition is None or guard.condition.letters() != {name}:
                    continue
                others = {name: ladder.low + 1}, {name: ladder.low + 2}
                if not any(guard.condition.holds(sizes) for sizes in others):
                    return f"torch's symbolic run takes {guard.text} for granted" + (
                        f" at {guard.span.file}:{guard.span.line}" if guard.span else ""
                    )
    return ""


def format_sizes(sizes: Mapping[str, int]) -> str:
    """Return sizes as text: ``B=2, H=33``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
