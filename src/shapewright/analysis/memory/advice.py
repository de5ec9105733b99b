"""What would lower the peak of a step, in words that its record shows to be true."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.record.memory import (
    ACTIVATIONS,
    GRADIENTS,
    OPTIMIZER,
    PARAMETERS,
    STEP,
    TEMPORARY,
    Peak,
)

WORTH = 0.1
"""The least share of the peak that a change must concern."""


def find_advice(
    peak: Peak, training: bool, optimizer: str, letter: str
) -> tuple[str, ...]:
    """Return changes that concern much of the peak, the largest share first.

    None of them has been rehearsed: each says which bytes it concerns, not how many it
    saves.
    """
    ranked = sorted(
        _list_changes(peak, training, optimizer, letter), key=lambda pair: -pair[0]
    )
    return tuple(text for size, text in ranked if size >= WORTH * peak.bytes)


def _list_changes(
    peak: Peak, training: bool, optimizer: str, letter: str
) -> Iterator[tuple[int, str]]:
    """Yield changes, each with the bytes at the peak that it concerns."""
    kinds = peak.kinds
    activations = kinds[ACTIVATIONS]
    batch = f"a smaller `{letter}`" if letter else "a smaller batch"
    if activations:
        yield (
            activations,
            f"{batch} lowers the activations in proportion; so does checkpointing of "
            "the modules above, which computes them again in backward",
        )
    elif not training and kinds[TEMPORARY]:
        yield kinds[TEMPORARY], f"{batch} lowers what is temporary in proportion"
    states = kinds[PARAMETERS] + kinds[GRADIENTS] + kinds[OPTIMIZER]
    if training and kinds[OPTIMIZER] > kinds[PARAMETERS]:
        yield (
            kinds[OPTIMIZER],
            f"the state of {optimizer} is {kinds[OPTIMIZER] / kinds[PARAMETERS]:.1f} "
            "times the parameters; `sgd` keeps none, `adafactor` a small part of it",
        )
    if training and peak.phase == STEP and kinds[TEMPORARY]:
        yield (
            kinds[TEMPORARY],
            "the peak is in the optimizer's step, whose temporary tensors "
            "`foreach=False` makes one parameter at a time",
        )
    elif training and peak.phase == STEP:
        yield (
            states,
            "the peak is in the optimizer's step: a smaller batch does not lower it",
        )
