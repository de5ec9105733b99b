"""Decide whether formulas and demands hold for all sizes: proven, refuted or undecided.

A symbolic run of torch gives its own formula for each size, under conditions. Where
these conditions hold, a formula is proven by being equal to torch's; where they do not,
another run is led there, until all sizes are covered or there is no time left. What is
refuted is confirmed by a plain run at those sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from shapewright.commands.solve.symbolic_regions import (
    Explorer,
    Region,
    find_region,
    format_regions,
    format_sizes,
    narrow_box,
)
from shapewright.record.ops import collect_leaves
from shapewright.record.solution import PROVEN, REFUTED, UNDECIDED, Proof, Statement
from shapewright.record.trace import Trace
from shapewright.sizes.conditions import Condition, Decision
from shapewright.sizes.expressions import Expression, Size, number
from shapewright.sizes.ranges import Ladder, Ladders

if TYPE_CHECKING:
    from shapewright.commands.solve.runs import Feeding
    from shapewright.runtime.symbolic_run import Dims, Symbolic


LEAST_HIGH = 64
"""Demands are looked at for all sizes from 1 to this at least."""


class _Demanding:
    """Demands, compared with symbolic runs that end and with refused symbolic runs."""

    def __init__(self, explorer: Explorer, trace: Trace) -> None:
        checked = trace.formulas.letters if trace.formulas is not None else {}
        self.explorer = explorer
        self.ladders: Ladders = {
            name: Ladder(1, max(LEAST_HIGH, checked[name].high if checked else 1))
            for name in explorer.feeding.free
        }
        usual = {**explorer.feeding.letters, **trace.letters}
        self.base = {name: usual[name] for name in self.ladders}
        found_regions = (find_region(run, self.ladders) for run in explorer.runs)
        self.regions: list[Region] = [
            region for region in found_regions if region is not None
        ]
        ladders = self.ladders.items()
        self.extent = "for " + ", ".join(ladder.text(name) for name, ladder in ladders)

    def statements(self, demands: Sequence[Condition]) -> list[Statement]:
        """Return a statement for each demand, and a statement that there are no further
        demands.
        """
        statements = [self.needed(demand) for demand in demands]
        return [*statements, self.enough(demands)]

    def needed(self, demand: Condition) -> Statement:
        """Decide whether the program refuses all sizes that violate a demand."""
        against = _Opposite(demand)
        left = self.explorer.explore(self.ladders, self.base, self.regions, against)
        for where in self.regions:
            if not where.done:
                continue
            decision = where.everywhere(demand)
            sizes = {**self.base, **(decision.at or {})}
            if decision.holds is None:
                left = left or "too many sizes to try each"
            elif not decision.holds and self.explorer.plain(sizes).accepted:
                return Statement(str(demand), "", REFUTED, "taken there", sizes)
            elif not decision.holds:
                left = f"torch's symbolic run differs at {format_sizes(sizes)}"
        if left:
            return Statement(str(demand), "", UNDECIDED, left)
        return Statement(str(demand), "", PROVEN, self.extent)

    def enough(self, demands: Sequence[Condition]) -> Statement:
        """Decide whether the program accepts all sizes that satisfy the demands."""
        text = "no other demand"
        ladders = dict(self.ladders)
        rest = _Together(tuple(e for e in demands if not narrow_box(ladders, e)))
        if any(not ladder.count for ladder in ladders.values()):
            return Statement(text, "", UNDECIDED, "no sizes satisfy the demands")
        found_regions = (find_region(run, ladders) for run in self.explorer.runs)
        regions = [region for region in found_regions if region is not None]
        base = dict(self.base)
        base |= {n: e.low for n, e in ladders.items() if not e.holds(base[n])}
        left = self.explorer.explore(ladders, base, regions, rest)
        for where in regions:
            if where.done:
                continue
            decision = where.everywhere(_Opposite(rest))
            if decision.holds is None:
                left = left or "too many sizes to try each"
            elif not decision.holds:
                sizes = {**base, **(decision.at or {})}
                if not self.explorer.plain(sizes).accepted:
                    reason = where.run.refused or ""
                    return Statement(text, "", REFUTED, reason, sizes)
                left = f"torch's symbolic run differs at {format_sizes(sizes)}"
        if left:
            return Statement(text, "", UNDECIDED, left)
        return Statement(text, "", PROVEN, self.extent)


@dataclass(frozen=True, slots=True)
class _Opposite:
    """The negation of a condition of any kind."""

    of: Condition

    @property
    def parts(self) -> tuple[Condition, ...]:
        """Return the conditions that this is composed of."""
        return (self.of,)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return not self.of.holds(sizes)

    def letters(self) -> frozenset[str]:
        return self.of.letters()


@dataclass(frozen=True, slots=True)
class _Together:
    """The conjunction of conditions of any kind."""

    parts: tuple[Condition, ...]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return all(part.holds(sizes) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))


def prove_formulas(
    target: Callable[..., Any],
    feeding: Feeding,
    trace: Trace,
    demands: Sequence[Condition] = (),
    seconds: float = 60,
) -> Proof:
    """Decide whether the formulas of a trace, and demands on sizes, hold for all sizes.

    Formulas are held against all sizes between which they were checked, and beyond
    them where that can be said; demands against all sizes up to the largest of those.
    `trace` is one with formulas, and `feeding` that of its runs; without formulas,
    only the demands are looked at.
    """
    from shapewright.runtime.symbolic_run import find_missing

    explorer = Explorer(target, feeding, seconds)
    explorer.reason = find_missing() or ""
    regions: list[Region] = []
    statements: list[Statement] = []
    if trace.formulas is not None:
        prover = _Prover(explorer, trace)
        statements += prover.statements()
        regions = [region for region in prover.regions if region.done]
    if demands:
        statements += _Demanding(explorer, trace).statements(demands)
    return Proof(tuple(statements), len(explorer.runs), tuple(format_regions(regions)))


@dataclass(frozen=True, slots=True)
class _Stated:
    """The shapes of a value in a trace, and the way to find them in a symbolic run."""

    place: str
    shapes: tuple[tuple[int, ...], ...]
    of: Callable[[Symbolic], tuple[Dims, ...] | None]

    @property
    def text(self) -> str:
        """Return the shapes as text: ``(B, T, 16), (1, B, 16)``."""
        return ", ".join(f"({', '.join(map(str, shape))})" for shape in self.shapes)


class _Prover:
    """Compares the formulas of a trace with symbolic runs."""

    def __init__(self, explorer: Explorer, trace: Trace) -> None:
        assert trace.formulas is not None
        self.explorer = explorer
        self.trace = trace
        self.ladders: Ladders = {
            name: Ladder(letter.low, letter.high, letter.step)
            for name, letter in trace.formulas.letters.items()
        }
        self.regions: list[Region] = []
        self.known: dict[Any, tuple[Decision, bool]] = {}

    def statements(self) -> list[Statement]:
        """Return a statement for every output of the target and every module call."""
        left = self.explorer.explore(self.ladders, self.base(), self.regions)
        return [self.statement(stated, left) for stated in _collect_shapes(self.trace)]

    def base(self) -> dict[str, int]:
        """Return the sizes to begin with: those of the trace, but at least 2."""
        sizes = {}
        for name, ladder in self.ladders.items():
            size = self.trace.letters.get(name, ladder.low)
            second = ladder.low + ladder.step
            if size < 2 and ladder.holds(second):
                size = second
            sizes[name] = size if ladder.holds(size) else ladder.low
        return sizes

    def statement(self, stated: _Stated, left: str) -> Statement:
        """Decide whether the formulas of a value hold; `left` is why some sizes are in
        no region.
        """
        beyond, why = True, ""
        for where in self.regions:
            if not where.done:
                continue
            theirs = stated.of(where.run)
            if theirs is None or list(map(len, theirs)) != list(
                map(len, stated.shapes)
            ):
                why = why or "torch's symbolic run has no such value"
                continue
            for mine, their_size in zip(
                _flatten_sizes(stated.shapes), _flatten_sizes(theirs), strict=True
            ):
                decision, far = self.compared(mine, their_size, where)
                beyond = beyond and far
                if decision.holds is False:
                    return self.refuted(stated, decision.at or {})
                if decision.holds is None:
                    why = why or _explain_undecided(mine, their_size)
        if why:
            return Statement(stated.text, stated.place, UNDECIDED, left or why)
        if left:
            return Statement(stated.text, stated.place, UNDECIDED, self.partly(left))
        return Statement(stated.text, stated.place, PROVEN, self.extent(beyond))

    def compared(
        self, mine: int, theirs: Expression | None, where: Region
    ) -> tuple[Decision, bool]:
        """Compare a size of the trace with torch's size, in a region and beyond the
        region.
        """
        formula = mine.formula if isinstance(mine, Size) else number(int(mine))
        if theirs is None or not formula.letters() <= set(where.box):
            return Decision(None), False
        key = (formula, theirs, id(where))
        if key not in self.known:
            self.known[key] = where.equal(formula, theirs)
        return self.known[key]

    def refuted(self, stated: _Stated, sizes: dict[str, int]) -> Statement:
        """Report a formula as refuted if a plain run contradicts it too, else as
        undecided.
        """
        plain = self.explorer.plain(sizes)
        there = {other.place: other for other in _collect_shapes(plain.trace)}.get(
            stated.place
        )
        mine = tuple(
            tuple(_evaluate_size(size, sizes) for size in shape)
            for shape in stated.shapes
        )
        if plain.accepted and there is not None and there.shapes != mine:
            detail = f"it is {there.text} there"
            return Statement(stated.text, stated.place, REFUTED, detail, sizes)
        detail = (
            f"torch's symbolic run differs from a plain one at {format_sizes(sizes)}"
        )
        return Statement(stated.text, stated.place, UNDECIDED, detail)

    def partly(self, why: str) -> str:
        """Return why a formula is undecided, and the sizes for which it is shown
        nevertheless.
        """
        known = format_regions([region for region in self.regions if region.done])
        return f"{why}; shown for {' and '.join(known[:3])}" if known else why

    def extent(self, beyond: bool) -> str:
        """Return the proven sizes as text, including those beyond the checked sizes if
        `beyond`.
        """
        if beyond and any(region.done for region in self.regions):
            known = format_regions([region for region in self.regions if region.done])
            return "for " + " and ".join(known)
        ladders = self.ladders.items()
        return "for " + ", ".join(ladder.text(name) for name, ladder in ladders)


def _collect_shapes(trace: Trace) -> list[_Stated]:
    """Return the recorded shapes of the target's outputs and of its module calls."""
    stated_shapes = []
    facts = collect_leaves(trace.output)
    for index, fact in enumerate(facts):
        place = "output" if len(facts) == 1 else f"output[{index}]"
        stated_shapes.append(_Stated(place, (fact.shape,), partial(_get_output, index)))
    for call in trace.calls:
        shapes = tuple(fact.shape for fact in collect_leaves(call.output))
        if call.path and call.method == "forward" and shapes:
            place = call.path if call.call == 1 else f"{call.path} ({call.call})"
            key = (call.path, call.call)
            stated_shapes.append(
                _Stated(place, shapes, partial(_get_module_output, key))
            )
    return stated_shapes


def _get_output(index: int, run: Symbolic) -> tuple[Dims, ...] | None:
    """Return one of the outputs of a symbolic run."""
    return run.outputs[index : index + 1] or None


def _get_module_output(key: tuple[str, int], run: Symbolic) -> tuple[Dims, ...] | None:
    """Return the output of a module call in a symbolic run."""
    return run.calls.get(key)


def _flatten_sizes(shapes: Any) -> list[Any]:
    """Flatten shapes into a list of sizes."""
    return [size for shape in shapes for size in shape]


def _evaluate_size(size: int, sizes: Mapping[str, int]) -> int:
    """Return the value of a size for these letters."""
    return size.formula.value(sizes) if isinstance(size, Size) else int(size)


def _explain_undecided(mine: int, theirs: Expression | None) -> str:
    """Return why a size was not decided."""
    if theirs is None:
        return "a size depends on data"
    if isinstance(mine, Size) and not mine.formula.letters() <= theirs.letters():
        return f"{mine} has no formula, torch has {theirs}"
    return f"{mine} against torch's {theirs} is too much work"
