"""What a refused call got, as formulas in the letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from shapewright.dims.expression import Expression, number
from shapewright.dims.several import product
from shapewright.reasoning.formulas.fitted import Work
from shapewright.solving.accepting import Trial

Pair = tuple[Expression, Expression]

ALIKE, OTHERS = 12, 28
"""Runs that formulas are fitted from: refused at the same place, and others."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The sizes of a refused call.

    `sizes` depend on letters; `pairs` stand one over the other in two tensors;
    `stated` are the two that the call itself says do not fit.
    """

    sizes: tuple[Expression, ...] = ()
    pairs: tuple[Pair, ...] = ()
    stated: tuple[Pair, ...] = ()


def refused_call(
    letters: Sequence[str], refusals: Sequence[Trial], trials: Sequence[Trial]
) -> Refused:
    """The formulas of what the first of some refused calls got, from many runs."""
    first = next((trial for trial in refusals if has_call(trial)), None)
    if first is None or first.refusal is None or first.refusal.call is None:
        return Refused()
    alike = [trial for trial in refusals if trial is not first and trial.sample]
    others = [t for t in trials if t.sample and t is not first and t not in alike]
    others.sort(key=lambda trial: (not trial.taken, -different(trial)))
    alike.sort(key=lambda trial: -different(trial))
    chosen = [first, *alike[:ALIKE], *others[:OTHERS]]
    work = Work([trial.sample for trial in chosen])
    work.done()
    known = set(letters)
    dims = [
        tuple(e if e is not None and e.letters() <= known else None for e in one)
        for one in work.entering(first.refusal.call)
    ]
    flat = dict.fromkeys(e for one in dims for e in one if e is not None)
    sizes = [each for each in flat if each.letters()]
    for one in dims[:1]:
        for last in (one, one[1:], one[2:]):  # all elements, those of one image
            known_dims = [each for each in last if each is not None]
            whole = product(known_dims)
            if len(known_dims) == len(last) and whole.letters() and whole not in sizes:
                sizes.append(whole)
    constants = [each for each in flat if not each.letters()]
    return Refused(
        tuple(sizes),
        tuple(over_each_other(dims)),
        tuple(stated(sizes, constants, [first, *alike])),
    )


def different(trial: Trial) -> int:
    """How many sizes of a trial differ: equal letters cannot be told apart."""
    return len(set(trial.sizes.values()))


def has_call(trial: Trial) -> bool:
    """Whether it was a call that was refused, and is known."""
    refusal = trial.refusal
    return refusal is not None and refusal.call is not None and bool(trial.sample)


def over_each_other(dims: Sequence[tuple[Expression | None, ...]]) -> list[Pair]:
    """Sizes of two tensors that stand one over the other, from the last dim on."""
    found: list[Pair] = []
    for one, two in combinations(dims, 2):
        for a, b in zip(reversed(one), reversed(two), strict=False):
            if a is not None and b is not None and a != b:
                found.append((a, b))
    return list(dict.fromkeys(found))


def stated(
    sizes: Sequence[Expression], constants: Sequence[Expression], alike: Sequence[Trial]
) -> list[Pair]:
    """What the refused calls had and what they needed, where these are known sizes."""
    seen = [
        (trial.sizes, trial.refusal.has, trial.refusal.needs)
        for trial in alike
        if trial.refusal is not None
        and trial.refusal.has is not None
        and trial.refusal.needs is not None
    ]
    if not seen:
        return []

    def meaning(at: int) -> list[Expression]:
        values = [each[at] for each in seen]
        plain = [number(values[0])] if len(set(values)) == 1 else []  # type: ignore[arg-type]
        fitting = [
            each for each in sizes if all(each.value(one[0]) == one[at] for one in seen)
        ]
        return fitting or plain

    return [(one, two) for one in meaning(1) for two in meaning(2) if one != two][:4]
