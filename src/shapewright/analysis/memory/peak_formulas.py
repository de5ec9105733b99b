"""The bytes at the peak as a formula in the letters of the inputs.

    >>> formula = fit_formula({"B": 8, "T": 64}, lambda s: 6 * s["B"] * s["T"] + 100)
    >>> formula.text
    '6*B*T + 100'
    >>> formula.compute(B=2, T=5)
    160

Tried are polynomials: of degree 1 in the batch, and 2 in another letter, since scores
of attention have its square. They go through the runs by construction; that one more
run, at other sizes of all letters, has the same bytes is what speaks for the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

from shapewright.record.memory import PeakFormula

BATCH = ("B", "N")
"""Letters of a batch; in the first letter of an input the degree is 1, too."""

MOST_LETTERS = 2
"""Letters that vary; further ones stay at their sizes."""

LEAST = 8
"""The least size from which letters vary: in smaller ones, another peak may be."""


def fit_formula(
    sizes: Mapping[str, int],
    measure: Callable[[Mapping[str, int]], int | None],
    batch: str = "",
) -> PeakFormula | None:
    """Return the formula of the bytes that `measure` returns, None if none fits.

    `sizes` are those from which the letters vary. `measure` returns None for a run that
    does not end.
    """
    letters = tuple(sizes)[:MOST_LETTERS]
    degrees = [1 if name == batch or name in BATCH else 2 for name in letters]
    starts = [max(sizes[name], LEAST) for name in letters]
    grids = [
        [start * (at + 1) for at in range(degree + 1)]
        for start, degree in zip(starts, degrees, strict=True)
    ]
    seen: dict[tuple[int, ...], Fraction] = {}
    for point in product(*grids):
        nbytes = measure(dict(zip(letters, point, strict=True)))
        if nbytes is None:
            return None
        seen[point] = Fraction(nbytes)
    terms = _find_terms(grids, seen)
    if any(value.denominator != 1 for value in terms.values()):
        return None
    whole = {powers: int(value) for powers, value in terms.items() if value}
    pairs = zip(grids, starts, strict=True)
    held_out = tuple(grid[-1] + start for grid, start in pairs)
    formula = PeakFormula(letters, whole, (*seen, held_out))
    named = dict(zip(letters, held_out, strict=True))
    return formula if measure(named) == formula.compute(**named) else None


def _find_terms(
    grids: list[list[int]], seen: Mapping[tuple[int, ...], Fraction]
) -> dict[tuple[int, ...], Fraction]:
    """Return the coefficients, by powers of the letters, of the polynomial through all
    points of a grid.
    """
    if not grids:
        return {(): seen[()]}
    first, *rest = grids
    by_size = [
        _find_terms(rest, {point[1:]: v for point, v in seen.items() if point[0] == x})
        for x in first
    ]
    terms: dict[tuple[int, ...], Fraction] = {}
    for powers in by_size[0]:
        values = [coefficients[powers] for coefficients in by_size]
        for power, value in enumerate(_solve_powers(first, values)):
            terms[(power, *powers)] = value
    return terms


def _solve_powers(sizes: list[int], values: list[Fraction]) -> list[Fraction]:
    """Return the coefficients of the polynomial with these values at these sizes."""
    coefficients = [Fraction(0)] * len(sizes)
    for at, value in enumerate(values):
        basis = [Fraction(1)]  # Lagrange's, which is 1 here and 0 at the other sizes
        for other, size in enumerate(sizes):
            if other != at:
                scale = Fraction(sizes[at] - size)
                shifted = [Fraction(0), *basis]
                lower = [*(c * -size for c in basis), Fraction(0)]
                basis = [(a + b) / scale for a, b in zip(shifted, lower, strict=True)]
        coefficients = [c + value * b for c, b in zip(coefficients, basis, strict=True)]
    return coefficients
