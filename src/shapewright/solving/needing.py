"""Which argument of a layer would have to be another, where no sizes are taken."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from shapewright.reasoning.explaining import sides
from shapewright.reasoning.formulas.operands import operands
from shapewright.reasoning.program import Built, Program
from shapewright.solving.accepting import Refusal, Trial, Trials
from shapewright.solving.planning import is_batch
from shapewright.trace.solution import Needed

FITTED, CHECKED = 16, 8
"""Runs more at random sizes, to fit a formula and to check it."""

SPAN = 64
"""How far beyond the sizes of the refused run these go; a batch goes a few."""

NEAR = 4
"""Steps around the sizes that came as far."""

TAKEN = frozenset({"in_features", "in_channels", "num_features", "input_size"})
"""Arguments of layers that say what size of one dim goes in."""


def needed(trials: Trials, trial: Trial, built: Mapping[str, Built]) -> Needed | None:
    """What the layer that refused a run is built with, and what comes in there.

    None where no argument of a layer decided the size.
    """
    refusal = trial.refusal
    if refusal is None or refusal.failure is None:
        return None
    program = Program(trial.trace, (refusal.failure,), built)
    op = trial.trace.ops[refusal.failure.op]
    layer = program.layer(op)
    got = sides(refusal.failure)[1]
    if layer is None or got is None or refusal.needs is None:
        return None
    at, dim = got
    size = op.inputs[at].shape[dim]
    argument = argument_of(trials.runner.modules.get(layer.path), refusal.needs)
    if not argument or size != refusal.has:
        return None
    construction = built.get(layer.path)
    return Needed(
        layer.path,
        layer.class_name,
        argument,
        refusal.needs,
        formula_of(trials, trial, refusal, got),
        size,
        trial.sizes,
        construction.span if construction is not None else None,
    )


def argument_of(module: Any, size: int) -> str:
    """The argument of a layer that is the size that it asks for."""
    if getattr(module, "groups", 1) != 1:
        return ""  # then one size is decided by two arguments
    for name in sorted(TAKEN):
        value = getattr(module, name, None)
        if type(value) is int and value == size:
            return name
    return ""


def formula_of(
    trials: Trials, trial: Trial, refusal: Refusal, got: tuple[int, int]
) -> str:
    """The size that comes in, in the letters; nothing where runs do not show it."""
    draw = random.Random(0)
    known = alike(trials, trial, refusal)
    more = [
        trials.at(somewhere(trial, known, draw, beyond=nth % 2 == 0))
        for nth in range(FITTED + CHECKED)
    ]
    before = set(map(id, known))
    checks = {id(each) for each in more[FITTED:] if id(each) not in before}
    others = [each for each in alike(trials, trial, refusal) if each is not trial]
    if not any(id(each) in checks for each in others):
        checks = {id(each) for each in others[::3]}
    fitted = [each.sample for each in others if id(each) not in checks]
    checked = [each.sample for each in others if id(each) in checks]
    assert refusal.call is not None
    dims = operands([trial.sample, *fitted], checked, refusal.call)
    at, dim = got
    if at >= len(dims) or dim >= len(dims[at]):
        return ""
    formula = dims[at][dim]
    return "" if formula is None else str(formula)


def alike(trials: Trials, trial: Trial, refusal: Refusal) -> list[Trial]:
    """The runs that were refused at the same call: a line may have several."""
    return [
        each
        for each in trials.all
        if each.refusal is not None
        and each.refusal.place == refusal.place
        and each.refusal.call is not None
        and each.sample
        and each.sample.keys[-1] == trial.sample.keys[-1]
    ]


def somewhere(
    trial: Trial, known: Sequence[Trial], draw: random.Random, beyond: bool
) -> dict[str, int]:
    """Sizes at random in the steps of those that came as far: near them, or beyond."""
    sizes = {}
    for name, size in trial.sizes.items():
        seen = [each.sizes[name] for each in known]
        step = gcd(*(each - size for each in seen)) or 1
        low = max(min(seen) - NEAR * step, size % step or step)
        high = max(seen) + NEAR * step
        if beyond:
            low, high = size, size + (3 if is_batch(name) else max(SPAN, 8 * step))
        sizes[name] = draw.randrange(low, high + 1, step)
    return sizes
