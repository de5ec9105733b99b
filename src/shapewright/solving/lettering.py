"""The trace of a witness with formulas, from the runs that a search made anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shapewright.dims.fitting import Fitter
from shapewright.reasoning.formulas.fitted import Dims, fitted
from shapewright.reasoning.formulas.lettered import lettered
from shapewright.solving.accepting import Trial, Trials
from shapewright.solving.feeding import Feeding
from shapewright.trace.formulas import Checked, Formulas
from shapewright.trace.record import Trace

MOST = 40
"""Runs that formulas are fitted from."""

EACH = 6
"""Of these, runs at different sizes of a letter."""


def lettered_trace(trials: Trials, witness: Trial, feeding: Feeding) -> Trace:
    """The witness's trace, each size with a formula that all chosen runs agree on."""
    runs = chosen(trials, witness)
    found = fitted([trial.sample for trial in runs])
    taken = [trial for trial in runs if trial.taken]
    letters = {
        name: Checked(
            min(trial.sizes[name] for trial in taken),
            max(trial.sizes[name] for trial in taken),
        )
        for name in trials.runner.free
    }
    formulas = Formulas(letters, len(taken), trials.count)
    made = lettered(witness.trace, found.calls, given_formulas(runs, feeding))
    return replace(made, formulas=formulas)


def chosen(trials: Trials, witness: Trial) -> list[Trial]:
    """The witness first, then runs whose sizes differ most, taken ones first.

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
        for trial in at_each_size(taken, name)
        if trial.sizes[name] != witness.sizes[name]
    ]
    rest = [trial for trial in taken if trial not in varied]
    return [witness, *varied, *rest[: max(MOST - 12 - len(varied), 0)], *refused[:12]]


def at_each_size(trials: Sequence[Trial], name: str) -> list[Trial]:
    """A few trials at different sizes of a letter, the first of each."""
    first: dict[int, Trial] = {}
    for trial in trials:
        first.setdefault(trial.sizes[name], trial)
    return list(first.values())[:EACH]


def given_formulas(runs: list[Trial], feeding: Feeding) -> list[Dims]:
    """The formulas of the tensors that the target is given."""
    names = runs[0].sizes
    fitter = Fitter({name: tuple(run.sizes[name] for run in runs) for name in names})
    fed = [feeding.shapes(run.sizes) for run in runs]
    found: list[Dims] = []
    for each in zip(*fed, strict=True):
        fits = [fitter.fit(column) for column in zip(*each, strict=True)]
        found.append(tuple(fit.formula if fit else None for fit in fits))
    return found
