"""Build the answer of `solve`: which sizes a program accepts and its output shapes, or
which layer argument would have to change.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import gcd
from typing import Any

from shapewright.analysis.explanations import describe_failure, find_sides
from shapewright.analysis.formulas.call_formulas import Dims, fit_calls, fit_operands
from shapewright.analysis.formulas.lettered_traces import attach_formulas
from shapewright.analysis.program_run import ConstructorCall, Program
from shapewright.commands.solve.accepted_sizes import Domain, RefusingLine
from shapewright.commands.solve.runs import Feeding, Runner
from shapewright.commands.solve.sample_sizes import is_batch
from shapewright.commands.solve.size_search import (
    Wanted,
    find_sizes_giving,
    find_witness,
)
from shapewright.commands.solve.size_trials import Refusal, Trial, Trials
from shapewright.record.formulas import Checked, Formulas
from shapewright.record.solution import Demanded, Example, Needed, Solution
from shapewright.record.trace import Trace
from shapewright.sizes.demand_search import SizeEvidence, find_plain_demand
from shapewright.sizes.demands import Always, Demand, Sizes
from shapewright.sizes.formula_fits import Fitter
from shapewright.views.formatting import format_nest

FITTED, CHECKED = 16, 8
"""Runs more at random sizes, to fit a formula and to check it."""

SPAN = 64
"""How far beyond the sizes of the refused run these go; a batch goes a few."""

NEAR = 4
"""Steps around the sizes that came as far."""

TAKEN = frozenset({"in_features", "in_channels", "num_features", "input_size"})
"""Arguments of layers that say what size of one dim goes in."""


def _find_needed_argument(
    trials: Trials, trial: Trial, built: Mapping[str, ConstructorCall]
) -> Needed | None:
    """Return the argument of the layer that refused a run, and the size of the layer's
    input.

    None where no argument of a layer decided the size.
    """
    refusal = trial.refusal
    if refusal is None or refusal.failure is None:
        return None
    program = Program(trial.trace, (refusal.failure,), built)
    op = trial.trace.ops[refusal.failure.op]
    layer = program.layer(op)
    got = find_sides(refusal.failure)[1]
    if layer is None or got is None or refusal.needs is None:
        return None
    at, dim = got
    size = op.inputs[at].shape[dim]
    argument = _find_argument(trials.runner.modules.get(layer.path), refusal.needs)
    if not argument or size != refusal.has:
        return None
    construction = built.get(layer.path)
    return Needed(
        layer.path,
        layer.class_name,
        argument,
        refusal.needs,
        _find_formula(trials, trial, refusal, got),
        size,
        trial.sizes,
        construction.span if construction is not None else None,
    )


def _find_argument(module: Any, size: int) -> str:
    """Return the name of a layer's argument that equals the size it expects; empty if
    none does.
    """
    if getattr(module, "groups", 1) != 1:
        return ""  # then one size is decided by two arguments
    for name in sorted(TAKEN):
        value = getattr(module, name, None)
        if type(value) is int and value == size:
            return name
    return ""


def _find_formula(
    trials: Trials, trial: Trial, refusal: Refusal, got: tuple[int, int]
) -> str:
    """Return the size of the layer's input as a formula; empty if the runs do not show
    it.
    """
    draw = random.Random(0)
    known = _find_alike(trials, trial, refusal)
    more = [
        trials.at(_draw_sizes(trial, known, draw, beyond=nth % 2 == 0))
        for nth in range(FITTED + CHECKED)
    ]
    before = set(map(id, known))
    checks = {
        id(other_trial)
        for other_trial in more[FITTED:]
        if id(other_trial) not in before
    }
    others = [
        other_trial
        for other_trial in _find_alike(trials, trial, refusal)
        if other_trial is not trial
    ]
    if not any(id(other) in checks for other in others):
        checks = {id(other) for other in others[::3]}
    fitted = [other.recorded for other in others if id(other) not in checks]
    checked = [other.recorded for other in others if id(other) in checks]
    assert refusal.call is not None
    dims = fit_operands([trial.recorded, *fitted], checked, refusal.call)
    at, dim = got
    if at >= len(dims) or dim >= len(dims[at]):
        return ""
    formula = dims[at][dim]
    return "" if formula is None else str(formula)


def _find_alike(trials: Trials, trial: Trial, refusal: Refusal) -> list[Trial]:
    """Return the runs refused at the same call, as a line may contain several calls."""
    return [
        other
        for other in trials.all
        if other.refusal is not None
        and other.refusal.place == refusal.place
        and other.refusal.call is not None
        and other.sample
        and other.sample.keys[-1] == trial.recorded.keys[-1]
    ]


def _draw_sizes(
    trial: Trial, known: Sequence[Trial], draw: random.Random, beyond: bool
) -> dict[str, int]:
    """Draw sizes near or beyond those of the runs that got as far, in the same
    steps.
    """
    sizes = {}
    for name, size in trial.sizes.items():
        seen = [other.sizes[name] for other in known]
        step = gcd(*(other_size - size for other_size in seen)) or 1
        low = max(min(seen) - NEAR * step, size % step or step)
        high = max(seen) + NEAR * step
        if beyond:
            low, high = size, size + (3 if is_batch(name) else max(SPAN, 8 * step))
        sizes[name] = draw.randrange(low, high + 1, step)
    return sizes


MOST = 40
"""Runs that formulas are fitted from."""

EACH = 6
"""Of these, runs at different sizes of a letter."""


def _build_lettered_trace(trials: Trials, witness: Trial, feeding: Feeding) -> Trace:
    """Return the witness's trace, with formulas on which all chosen runs agree."""
    runs = _choose_runs(trials, witness)
    fitted_calls = fit_calls([trial.recorded for trial in runs])
    taken = [trial for trial in runs if trial.taken]
    letters = {
        name: Checked(
            min(trial.sizes[name] for trial in taken),
            max(trial.sizes[name] for trial in taken),
        )
        for name in trials.runner.free
    }
    formulas = Formulas(letters, len(taken), trials.count)
    lettered_trace = attach_formulas(
        witness.trace, fitted_calls.calls, _get_input_formulas(runs, feeding)
    )
    return replace(lettered_trace, formulas=formulas)


def _choose_runs(trials: Trials, witness: Trial) -> list[Trial]:
    """Return the witness, then the runs whose sizes differ most, accepted runs first.

    Some runs at other sizes of each letter are among them: a letter that is the same
    in all of them would be a number in every formula.
    """
    others = [t for t in trials.all if t is not witness and t.sample is not None]
    others.sort(key=lambda t: (not t.taken, -len(set(t.sizes.values()))))
    taken = [trial for trial in others if trial.taken]
    refused = [trial for trial in others if not trial.taken]
    varied = [
        trial
        for name in witness.sizes
        for trial in _choose_by_size(taken, name)
        if trial.sizes[name] != witness.sizes[name]
    ]
    rest = [trial for trial in taken if trial not in varied]
    return [witness, *varied, *rest[: max(MOST - 12 - len(varied), 0)], *refused[:12]]


def _choose_by_size(trials: Sequence[Trial], name: str) -> list[Trial]:
    """Return a few trials at different sizes of a letter, one trial per size."""
    first: dict[int, Trial] = {}
    for trial in trials:
        first.setdefault(trial.sizes[name], trial)
    return list(first.values())[:EACH]


def _get_input_formulas(runs: list[Trial], feeding: Feeding) -> list[Dims]:
    """Return the formulas of the target's input tensors."""
    names = runs[0].sizes
    fitter = Fitter({name: tuple(run.sizes[name] for run in runs) for name in names})
    fed = [feeding.shapes(run.sizes) for run in runs]
    input_dims: list[Dims] = []
    for columns in zip(*fed, strict=True):
        fits = [fitter.fit(column) for column in zip(*columns, strict=True)]
        input_dims.append(tuple(fit.formula if fit else None for fit in fits))
    return input_dims


VALUES = 1 << 20
"""Elements of tensors whose values are kept: an index out of range is seen."""

MANY = 400
"""Points at which it is asked whether a demand says more than the others."""


def find_solution(
    target: Callable[..., Any],
    feeding: Feeding,
    name: str,
    want: Sequence[Wanted] = (),
    asked: str = "",
    prove: float | None = None,
    built: Callable[[Mapping[str, Any]], Mapping[str, ConstructorCall]] | None = None,
) -> Solution:
    """Find the sizes that a callable accepts, and those that lead to a wanted output.

    With `prove`, formulas and demands are proven for so many seconds at most. `built`
    says where modules were constructed, of modules by path.
    """
    from shapewright.engine.engine import EngineOptions, GoingOn
    from shapewright.runtime.run_record import RunRequest

    options = EngineOptions(known=VALUES, going_on=GoingOn(quick=True))
    runner = Runner(target, feeding, RunRequest(target=name, options=options))
    trials = Trials(runner)
    witness = find_witness(trials)
    spec = feeding.text
    if witness is None:
        nearest = max(trials.all, key=_count_calls)
        lacking = _find_needed_argument(
            trials, nearest, built(runner.modules) if built else {}
        )
        return Solution(
            name, spec, runner.free, (), None, _build_refused_run(nearest),
            trials.count, False, want=asked, needed=lacking,
        )  # fmt: skip
    domain = Domain(trials, witness)
    domain.learn()
    trace = _build_lettered_trace(trials, witness, feeding)
    wanted: list[Example] = []
    if want:
        wanted_trials = find_sizes_giving(trace, want, domain, trials)
        wanted = [_build_accepted_run(trial) for trial in wanted_trials]
    demands = _mark_implied(
        [_build_demand(place, witness) for place in _sort_places(domain)], domain
    )
    proof = None
    if prove is not None:
        from shapewright.commands.solve.proofs import prove_formulas

        left = [demand.demand for demand in demands if not demand.implied]
        proof = prove_formulas(target, feeding, trace, left, prove)
    held = domain.held and not _has_unexplained(domain)
    nearest_refused = _find_nearest(witness, [t for t in trials.all if not t.taken])
    return Solution(
        name,
        spec,
        runner.free,
        tuple(demands) if held else (),
        _build_accepted_run(witness),
        None if nearest_refused is None else _build_refused_run(nearest_refused),
        trials.count,
        domain.sure and held,
        trace,
        asked,
        tuple(wanted),
        proof=proof,
        whole=_combine_demands(demands, domain) if held else None,
        tried=() if held else tuple(map(_summarise_trial, trials.all)),
    )


def _sort_places(domain: Domain) -> list[RefusingLine]:
    """Return the places that make demands, in the order of the run."""
    return sorted(domain.places.values(), key=lambda place: place.reached)


def _build_demand(place: RefusingLine, witness: Trial) -> Demanded:
    """Return a demand with its line, and an example of what that line refuses."""
    nearest = _find_nearest(witness, place.refusals) or place.refusals[0]
    shown = _build_refused_run(nearest)
    calls = {t.refusal.call for t in place.refusals if t.refusal is not None}
    return Demanded(place.demand, shown.span, shown.message, shown, len(calls))


def _mark_implied(demands: list[Demanded], domain: Domain) -> list[Demanded]:
    """Return the demands, marking those that the others together imply."""
    points = _collect_points(domain)
    kept = list(demands)
    for candidate in [d for d in demands if not isinstance(d.demand, Always)]:
        others = [other for other in kept if other is not candidate]
        if all(
            candidate.demand.holds(sizes)
            for sizes in points
            if all(other.demand.holds(sizes) for other in others)
        ):
            kept.remove(candidate)
    for candidate in [d for d in demands if isinstance(d.demand, Always)]:
        if not domain.takes(candidate.refused.sizes):
            kept.remove(candidate)
    return [
        demand if demand in kept else replace(demand, implied=True)
        for demand in demands
    ]


def _has_unexplained(domain: Domain) -> bool:
    """Return whether sizes were refused that all demands allow."""
    refused = [trial for trial in domain.trials.all if not trial.taken]
    return any(domain.takes(trial.sizes) for trial in refused)


def _collect_points(domain: Domain) -> list[Sizes]:
    """Return sizes that were run, random sizes, and sizes rarely hit by chance."""
    points: list[Sizes] = [trial.sizes for trial in domain.trials.all]
    return [*points, *islice(domain.anywhere(), MANY), *domain.rare()]


def _combine_demands(demands: Sequence[Demanded], domain: Domain) -> Demand | None:
    """Combine several demands on letters into one plain demand, or return None."""
    several = [demand for demand in demands if not demand.implied]
    if len(several) < 2 and not any("//" in demand.text for demand in several):
        return None
    all_ = domain.trials.all
    taken = [trial.sizes for trial in all_ if trial.taken]
    refused = [trial.sizes for trial in all_ if not trial.taken]
    plain_demand = find_plain_demand(SizeEvidence(domain.letters, taken, refused))
    points = _collect_points(domain)
    if plain_demand is None or any(
        plain_demand.holds(s) != domain.takes(s) for s in points
    ):
        return None
    return plain_demand


def _find_nearest(witness: Trial, trials: Sequence[Trial]) -> Trial | None:
    """Return the trial whose sizes differ least from those of the witness."""

    def distance(trial: Trial) -> tuple[int, int]:
        steps = [abs(size - witness.sizes[name]) for name, size in trial.sizes.items()]
        return sum(step > 0 for step in steps), sum(steps)

    return min(trials, key=distance, default=None)


def _build_accepted_run(trial: Trial) -> Example:
    """Return an accepted run with its output."""
    return Example(trial.sizes, format_nest(trial.trace.output))


def _summarise_trial(trial: Trial) -> Example:
    """Return a run as its sizes, marked if it was refused."""
    return Example(trial.sizes, message="" if trial.taken else "refused")


def _build_refused_run(trial: Trial) -> Example:
    """Return a refused run, in the words of its program."""
    refusal = trial.refusal
    if refusal is None:
        return _build_accepted_run(trial)
    message = refusal.message
    if refusal.failure is not None:
        program = Program(trial.trace, (refusal.failure,))
        message = describe_failure(program, refusal.failure)[1]
    return Example(trial.sizes, "", message.removesuffix("."), refusal.span)


def _count_calls(trial: Trial) -> int:
    """Return how many calls a trial made."""
    return len(trial.sample.keys) if trial.sample is not None else 0
