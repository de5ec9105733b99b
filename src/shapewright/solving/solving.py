"""What a program takes, and what comes out: the answer of `shapewright solve`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from shapewright.dims.demand import Always, Demand, Sizes
from shapewright.dims.learning import Evidence, in_short
from shapewright.reasoning.explaining import told
from shapewright.reasoning.program import Built, Program
from shapewright.solving.accepting import Trial, Trials
from shapewright.solving.domains import Domain, Place
from shapewright.solving.feeding import Feeding
from shapewright.solving.lettering import lettered_trace
from shapewright.solving.needing import needed
from shapewright.solving.running import Runner
from shapewright.solving.wanting import Wanted, sizes_giving
from shapewright.solving.witness import witnessed
from shapewright.trace.solution import Demanded, Example, Solution
from shapewright.views.shapes import nest

VALUES = 1 << 20
"""Elements of tensors whose values are kept: an index out of range is seen."""

MANY = 400
"""Points at which it is asked whether a demand says more than the others."""


def solved(
    target: Callable[..., Any],
    feeding: Feeding,
    name: str,
    want: Sequence[Wanted] = (),
    asked: str = "",
    prove: float | None = None,
    built: Callable[[Mapping[str, Any]], Mapping[str, Built]] | None = None,
) -> Solution:
    """What a callable takes, fed so, and which sizes give a wanted output.

    With `prove`, formulas and demands are proven for so many seconds at most. `built`
    says where modules were constructed, of modules by path.
    """
    from shapewright.runtime.run import Settings

    def settings() -> Settings:
        return Settings(target=name, go_on=True, quick=True, known=VALUES)

    runner = Runner(target, feeding, settings)
    trials = Trials(runner)
    witness = witnessed(trials)
    spec = feeding.text
    if witness is None:
        nearest = max(trials.all, key=reached)
        lacking = needed(trials, nearest, built(runner.modules) if built else {})
        return Solution(
            name, spec, runner.free, (), None, refused(nearest), trials.count, False,
            want=asked, needed=lacking,
        )  # fmt: skip
    domain = Domain(trials, witness)
    domain.learn()
    trace = lettered_trace(trials, witness, feeding)
    wanted: list[Example] = []
    if want:
        found = sizes_giving(trace, want, domain, trials)
        wanted = [taken(trial) for trial in found]
    demands = mark_implied(
        [demanded(place, witness) for place in in_order(domain)], domain
    )
    proof = None
    if prove is not None:
        from shapewright.solving.proving import proved

        left = [each.demand for each in demands if not each.implied]
        proof = proved(target, feeding, trace, left, prove)
    held = domain.held and not unexplained(domain)
    nearest_refused = nearest_of(witness, [t for t in trials.all if not t.taken])
    return Solution(
        name,
        spec,
        runner.free,
        tuple(demands) if held else (),
        taken(witness),
        None if nearest_refused is None else refused(nearest_refused),
        trials.count,
        domain.sure and held,
        trace,
        asked,
        tuple(wanted),
        proof=proof,
        whole=whole_of(demands, domain) if held else None,
        tried=() if held else tuple(map(in_short_of, trials.all)),
    )


def in_order(domain: Domain) -> list[Place]:
    """The places that demand something, in the order of the run."""
    return sorted(domain.places.values(), key=lambda place: place.reached)


def demanded(place: Place, witness: Trial) -> Demanded:
    """A demand with its line, from what a line refused."""
    nearest = nearest_of(witness, place.refusals) or place.refusals[0]
    shown = refused(nearest)
    calls = {t.refusal.call for t in place.refusals if t.refusal is not None}
    return Demanded(place.demand, shown.span, shown.message, shown, len(calls))


def mark_implied(demands: list[Demanded], domain: Domain) -> list[Demanded]:
    """The demands, those marked that the others together make superfluous."""
    points = points_of(domain)
    kept = list(demands)
    for each in [d for d in demands if not isinstance(d.demand, Always)]:
        others = [other for other in kept if other is not each]
        if all(
            each.demand.holds(sizes)
            for sizes in points
            if all(other.demand.holds(sizes) for other in others)
        ):
            kept.remove(each)
    for each in [d for d in demands if isinstance(d.demand, Always)]:
        if not domain.takes(each.refused.sizes):
            kept.remove(each)
    return [each if each in kept else replace(each, implied=True) for each in demands]


def unexplained(domain: Domain) -> bool:
    """Whether sizes were refused that every demand allows."""
    refused = [trial for trial in domain.trials.all if not trial.taken]
    return any(domain.takes(trial.sizes) for trial in refused)


def points_of(domain: Domain) -> list[Sizes]:
    """Sizes that were run, others at random, and those that are hit by no chance."""
    points: list[Sizes] = [trial.sizes for trial in domain.trials.all]
    return [*points, *islice(domain.anywhere(), MANY), *domain.rare()]


def whole_of(demands: Sequence[Demanded], domain: Domain) -> Demand | None:
    """What several demands on letters come to, where that is one plain demand."""
    several = [each for each in demands if not each.implied]
    if len(several) < 2 and not any("//" in each.text for each in several):
        return None
    all_ = domain.trials.all
    taken = [trial.sizes for trial in all_ if trial.taken]
    refused = [trial.sizes for trial in all_ if not trial.taken]
    found = in_short(Evidence(domain.letters, taken, refused))
    points = points_of(domain)
    if found is None or any(found.holds(s) != domain.takes(s) for s in points):
        return None
    return found


def nearest_of(witness: Trial, trials: Sequence[Trial]) -> Trial | None:
    """The trial whose sizes differ least from those of the witness."""

    def distance(trial: Trial) -> tuple[int, int]:
        steps = [abs(size - witness.sizes[name]) for name, size in trial.sizes.items()]
        return sum(step > 0 for step in steps), sum(steps)

    return min(trials, key=distance, default=None)


def taken(trial: Trial) -> Example:
    """A run that was taken, with what came out."""
    return Example(trial.sizes, nest(trial.trace.output))


def in_short_of(trial: Trial) -> Example:
    """A run by its sizes, with a word where it was refused."""
    return Example(trial.sizes, message="" if trial.taken else "refused")


def refused(trial: Trial) -> Example:
    """A run that was refused, in the words of its program."""
    refusal = trial.refusal
    if refusal is None:
        return taken(trial)
    message = refusal.message
    if refusal.failure is not None:
        program = Program(trial.trace, (refusal.failure,))
        message = told(program, refusal.failure)[1]
    return Example(trial.sizes, "", message.removesuffix("."), refusal.span)


def reached(trial: Trial) -> int:
    """How many calls a trial made."""
    return len(trial.sample.keys) if trial.sample is not None else 0
