"""Sizes that give an output of a wanted shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from itertools import product as every

from shapewright.dims.size import Size
from shapewright.solving.accepting import Trial, Trials
from shapewright.solving.domains import Domain
from shapewright.trace.module import leaves
from shapewright.trace.record import Trace

WIDEST = 4096
"""Sizes of a letter that are looked through."""

LOOKED_AT = 20_000
"""Sizes of several letters together that are worked out."""

MOST = 6
"""Answers that are run and shown."""

Wanted = Sequence[int | str]
"""A shape: numbers, and letters that may be anything or are those of the input."""


def sizes_giving(
    trace: Trace, wanted: Sequence[Wanted], domain: Domain, trials: Trials
) -> list[Trial]:
    """Trials whose output has the wanted shape, the plainest sizes first.

    Each is run: a formula alone is no answer.
    """
    outputs = [fact.shape for fact in leaves(trace.output)]
    shapes = match(outputs, wanted)
    if shapes is None:
        return []
    found: list[Trial] = []
    for sizes in candidates(shapes, domain):
        trial = trials.at(sizes)
        if trial.taken and gives(trial, wanted, sizes):
            found.append(trial)
        if len(found) == MOST:
            break
    return found


def match(
    outputs: Sequence[tuple[int, ...]], wanted: Sequence[Wanted]
) -> list[tuple[int, int | str]] | None:
    """Each size of the output with what it is wanted to be; None for another rank."""
    if len(wanted) > len(outputs):
        return None
    pairs: list[tuple[int, int | str]] = []
    for shape, want in zip(outputs, wanted, strict=False):
        if len(shape) != len(want):
            return None
        pairs += zip(shape, want, strict=True)
    return pairs


def candidates(
    pairs: Sequence[tuple[int, int | str]], domain: Domain
) -> Iterator[dict[str, int]]:
    """Sizes at which the formulas of the output are what is wanted."""
    base = domain.witness.sizes
    numbers = [(size, want) for size, want in pairs if isinstance(want, int)]
    for size, want in numbers:
        if not isinstance(size, Size) and int(size) != want:
            return
    formulas = [(s.formula, w) for s, w in numbers if isinstance(s, Size)]
    letters = {name for formula, _ in formulas for name in formula.letters()}
    options: dict[str, list[int]] = {}
    for name in letters & set(base):
        alone = [(f, w) for f, w in formulas if f.letters() == {name}]
        if alone:
            options[name] = [
                size
                for size in range(1, WIDEST)
                if all(f.value({name: size}) == w for f, w in alone)
            ]
        else:
            options[name] = near(base[name])
    names = list(options)
    for chosen in islice(every(*[options[name] for name in names]), LOOKED_AT):
        sizes = {**base, **dict(zip(names, chosen, strict=True))}
        fits = all(formula.value(sizes) == want for formula, want in formulas)
        if fits and domain.takes(sizes):
            yield sizes


def near(size: int) -> list[int]:
    """Sizes of a letter that no wanted size tells alone."""
    return sorted(range(1, 512), key=lambda other: abs(other - size))


def gives(trial: Trial, wanted: Sequence[Wanted], sizes: Mapping[str, int]) -> bool:
    """Whether what came out has the wanted shape."""
    outputs = [fact.shape for fact in leaves(trial.trace.output)]
    for shape, want in zip(outputs, wanted, strict=False):
        for size, one in zip(shape, want, strict=True):
            if isinstance(one, int) and size != one:
                return False
            if isinstance(one, str) and one in sizes and size != sizes[one]:
                return False
    return True
