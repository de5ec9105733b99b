"""Fit a formula to every size of a run, from the sizes seen in several aligned runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from operator import le
from typing import Any, Protocol

from shapewright.sizes.expressions import Expression, Letter, product
from shapewright.sizes.floor_division import divide_floor
from shapewright.sizes.formula_fits import Column, Fit, Fitter

Shapes = tuple[tuple[int, ...], ...]


class Sample(Protocol):
    """What a run at given sizes recorded: see `engine/recipes/recipe.py`."""

    @property
    def letters(self) -> Any: ...
    @property
    def keys(self) -> tuple[Any, ...]: ...
    @property
    def taken(self) -> tuple[Shapes, ...]: ...
    @property
    def given(self) -> tuple[Shapes, ...]: ...
    @property
    def steps(self) -> tuple[Shapes, ...]: ...
    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]: ...


def _align_calls(base: Sample, other: Sample) -> Sequence[int | None]:
    """Return the index in `other` of every call of `base`, or None where `other` lacks
    it.

    The n-th call of a key is the n-th call of that key.
    """
    if base.keys == other.keys:
        return range(len(base.keys))
    places: dict[Any, list[int]] = {}
    for at, key in enumerate(other.keys):
        places.setdefault(key, []).append(at)
    counts: dict[Any, int] = {}
    indices: list[int | None] = []
    for key in base.keys:
        nth = counts[key] = counts.get(key, -1) + 1
        there = places.get(key, ())
        indices.append(there[nth] if nth < len(there) else None)
    return indices


def find_parting(base: Sample, other: Sample) -> int | None:
    """Return the first call of `base` after which the two runs diverge, or None."""
    if base.keys == other.keys:
        return None
    for at, (base_key, other_key) in enumerate(
        zip(base.keys, other.keys, strict=False)
    ):
        if base_key != other_key:
            return at
    return min(len(base.keys), len(other.keys)) - 1


Formula = Expression | None

UNKNOWN = Letter("?")
"""Stands for a number that differs between runs and has no formula."""

ENOUGH = 3
"""Runs that show a call, where others that reached their end made none."""
Dims = tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class CallFormulas:
    """The formulas of one call: output shapes and strides, and numbers in its
    arguments.
    """

    shapes: tuple[Dims, ...]
    strides: tuple[Dims, ...]
    numbers: Dims


@dataclass(frozen=True, slots=True)
class Varying:
    """A size that no family of formulas fits: its letter and the values seen."""

    name: str
    call: int
    seen: tuple[tuple[Mapping[str, int], int], ...]


@dataclass(slots=True)
class Fitted:
    """The formulas of all calls of a base run.

    `rivals` are pairs of formulas that more runs must tell apart; `guessed` are
    formulas with a stride that no argument has.
    """

    calls: list[CallFormulas]
    rivals: list[tuple[Expression, Expression]]
    varying: list[Varying]
    guessed: int = 0
    formulas: dict[str, Expression] = field(default_factory=dict)


def fit_calls(samples: Sequence[Sample], classes: Sequence[int] = ()) -> Fitted:
    """Fit formulas to every call of the first sample, with the other samples as
    evidence.

    `classes` are known where every sample shows every call: calls of one class show the
    same in all of them.
    """
    return Work(samples, classes).done()


class Work:
    """Fits formulas to the calls of the first sample, with the other samples as
    evidence.
    """

    def __init__(self, samples: Sequence[Sample], classes: Sequence[int] = ()) -> None:
        self.samples = samples
        self.classes = classes
        self.of_class: dict[int, CallFormulas] = {}
        base = samples[0]
        self.columns = {
            name: tuple(sample.letters[name] for sample in samples)
            for name in base.letters
        }
        self.fitters = {(True,) * len(samples): Fitter(self.columns)}
        self.places = [_align_calls(base, sample) for sample in samples]
        self.made: dict[tuple[object, ...], CallFormulas] = {}
        self.result = Fitted([], [], [])
        self.said: set[tuple[Expression, Expression]] = set()

    def done(self) -> Fitted:
        """Fit formulas to all calls in order, so that those of a call's inputs are
        known first.
        """
        for at in range(len(self.samples[0].keys)):
            kind = self.classes[at] if at < len(self.classes) else -1 - at
            formulas = self.of_class.get(kind)
            if formulas is None:
                formulas = self.of_class[kind] = self.call(at)
            self.result.calls.append(formulas)
        self.result.guessed = sum(fitter.guessed for fitter in self.fitters.values())
        return self.result

    def call(self, at: int) -> CallFormulas:
        """Return the formulas of one call of the base run."""
        full = bool(self.samples[0].given[at])
        places = [
            None if place is None or (full and not sample.given[place]) else place
            for sample, place in self.there(at)  # a refused call gave nothing
        ]
        present = tuple(place is not None for place in places)
        runs = [
            (sample, place)
            for sample, place in zip(self.samples, places, strict=True)
            if place is not None
        ]
        shapes = tuple([sample.given[place] for sample, place in runs])
        taken = tuple([sample.taken[place] for sample, place in runs])
        steps = tuple([sample.steps[place] for sample, place in runs])
        numbers = tuple([sample.numbers[place] for sample, place in runs])
        if len(runs) < ENOUGH and self.left_out(present):
            return _build_unknown(self.samples[0], at)
        key = (present, shapes, taken, steps, numbers)
        formulas = self.made.get(key)
        if formulas is None:
            formulas = self.made[key] = self.fit(
                at, present, shapes, taken, steps, numbers
            )
        return formulas

    def left_out(self, present: tuple[bool, ...]) -> bool:
        """Return whether a run that reached its end lacks this call."""
        return any(
            not here and bool(sample.keys) and sample.keys[-1][0] == "output"
            for sample, here in zip(self.samples, present, strict=True)
        )

    def there(self, at: int) -> Iterator[tuple[Sample, int | None]]:
        """Yield every run with the index that a call of the base run has in it, or
        None.
        """
        for sample, places in zip(self.samples, self.places, strict=True):
            yield sample, places[at]

    def fit(
        self,
        at: int,
        present: tuple[bool, ...],
        outputs: tuple[tuple[Column, ...], ...],
        taken: tuple[tuple[Column, ...], ...],
        steps: tuple[tuple[Column, ...], ...],
        numbers: tuple[Column, ...],
    ) -> CallFormulas:
        fitter = self.fitter(present)
        near = [column for dims in _build_columns(taken) for column in dims]
        hints = [n for n in numbers[0] if 1 < n <= 4096]
        wholes = _build_columns(taken)
        shapes = []
        for nth, columns in enumerate(_build_columns(outputs)):
            dims: list[Formula] = [UNKNOWN] * (0 if columns else len(outputs[0][nth]))
            for column in columns:
                dims.append(self.formula(present, at, column, near, hints, wholes))
                near.append(column)
            shapes.append(tuple(dims))
        strides = []
        for columns, own in zip(
            _build_columns(steps), _build_columns(outputs), strict=False
        ):
            beside = [*own, *near]
            strides.append(
                tuple(
                    self.stride(present, step, size, beside)
                    for step, size in zip(columns, own, strict=False)
                )
            )
        lined = {len(row) for row in numbers}
        each_number = list(zip(*numbers, strict=True)) if len(lined) == 1 else []
        return CallFormulas(
            tuple(shapes),
            tuple(strides),
            tuple(self.plain(fitter, column, near, hints) for column in each_number),
        )

    def entering(self, at: int) -> list[Dims]:
        """Return the formulas of a call's input tensors, fitted from the calls before
        it.
        """
        places = [places[at] for places in self.places]
        present = tuple(place is not None for place in places)
        fitter = self.fitter(present)
        taken = tuple(
            sample.taken[place]
            for sample, place in zip(self.samples, places, strict=True)
            if place is not None
        )
        shapes: list[Dims] = []
        for columns in _build_columns(taken):
            fits = [fitter.fit(column) for column in columns]
            shapes.append(tuple(fit.formula if fit else None for fit in fits))
        return shapes

    def fitter(self, present: tuple[bool, ...]) -> Fitter:
        """Return the fitter for the runs that made a call; it starts with what fitters
        over more runs know.
        """
        fitter = self.fitters.get(present)
        if fitter is None:
            fitter = Fitter(
                {n: _restrict_column(all_, present) for n, all_ in self.columns.items()}
            )
            self.fitters[present] = fitter
        for runs, wider in self.fitters.items():
            if wider is not fitter and all(map(le, present, runs)):
                inner = tuple(
                    here for here, there in zip(present, runs, strict=True) if there
                )
                _learn(fitter, wider, inner)
        return fitter

    def formula(
        self,
        present: tuple[bool, ...],
        at: int,
        column: Column,
        near: list[Column],
        hints: list[int],
        wholes: list[list[Column]],
    ) -> Formula:
        """Return the formula of a dim; a dim that no formula fits gets a letter of its
        own.
        """
        fitter = self.fitter(present)
        fit = fitter.fit(column, near, hints) or _fit_share(fitter, column, wholes)
        if fit is None:
            name = f"v{len(self.result.varying) + 1}"
            runs = zip(self.samples, present, strict=True)
            sizes = [sample.letters for sample, here in runs if here]
            seen = tuple(zip(sizes, column, strict=True))
            self.result.varying.append(Varying(name, at, seen))
            fit = fitter.known[column] = Fit(Letter(name))
            fitter.pool.append(column)
        self.compare(fit)
        return fit.formula

    def plain(
        self,
        fitter: Fitter,
        column: Column,
        near: Sequence[Column],
        hints: Sequence[int] = (),
    ) -> Formula:
        """Return the formula of a stride or an argument."""
        fit = fitter.fit(column, near, hints)
        if fit is None:
            return UNKNOWN
        self.compare(fit)
        return fit.formula

    def stride(
        self,
        present: tuple[bool, ...],
        column: Column,
        size: Column,
        near: Sequence[Column],
    ) -> Formula:
        """Return the formula of a stride; the stride of a dim of size 1 may be
        anything.
        """
        several = tuple(n > 1 for n in size)
        if all(several) or not any(several):
            return self.plain(self.fitter(present), column, near)
        left = iter(several)
        fewer = tuple(here and next(left) for here in present)
        return self.plain(
            self.fitter(fewer),
            _restrict_column(column, several),
            [_restrict_column(dim, several) for dim in near],
        )

    def compare(self, fit: Fit) -> None:
        """Record the rivals that must be distinguished from a formula."""
        for rival in fit.rivals:
            pair = (fit.formula, rival)
            if pair not in self.said:
                self.said.add(pair)
                self.result.rivals.append(pair)


def _build_unknown(sample: Sample, at: int) -> CallFormulas:
    """Return formulas, all unknown, for a call about which too little is known."""
    return CallFormulas(
        tuple((UNKNOWN,) * len(shape) for shape in sample.given[at]),
        tuple((UNKNOWN,) * len(steps or ()) for steps in sample.steps[at]),
        (UNKNOWN,) * len(sample.numbers[at]),
    )


def _fit_share(
    fitter: Fitter, column: Column, wholes: Sequence[Sequence[Column]]
) -> Fit | None:
    """Fit a size that is a fixed share of a tensor's element count: `view(-1, 128)`."""
    for dims in wholes:
        if not dims or any(0 in dim for dim in (column, *dims)):
            continue
        known = [fitter.fit(dim) for dim in dims]
        whole = [prod(row) for row in zip(*dims, strict=True)]
        ratios = {Fraction(v, u) for u, v in zip(whole, column, strict=True)}
        if len(ratios) == 1 and all(known):
            (ratio,) = ratios
            formula = product([fit.formula for fit in known if fit is not None])
            fit = Fit(divide_floor(formula * ratio.numerator, ratio.denominator))
            fitter.known[column] = fit
            fitter.pool.append(column)
            return fit
    return None


def _restrict_column(column: Column, present: tuple[bool, ...]) -> Column:
    """Return a column restricted to fewer runs."""
    return tuple(n for n, here in zip(column, present, strict=True) if here)


def _learn(fitter: Fitter, wider: Fitter, present: tuple[bool, ...]) -> None:
    """Copy what a fitter over more runs knows to a fitter over fewer runs."""
    for at in range(fitter.learnt.get(id(wider), 0), len(wider.pool)):
        column = wider.pool[at]
        fewer = _restrict_column(column, present)
        fit = wider.known[column]
        if fit is not None and len(set(fewer)) > 1 and fewer not in fitter.known:
            fitter.known[fewer] = fit
            fitter.pool.append(fewer)
    fitter.learnt[id(wider)] = len(wider.pool)


def _build_columns(runs: tuple[tuple[Column, ...], ...]) -> list[list[Column]]:
    """Return the dims of every tensor of a call, each dim as a column over the runs.

    A tensor whose rank is not the same in all runs has none.
    """
    tensors = []
    for shapes in zip(*runs, strict=False):
        ranks = {len(shape) for shape in shapes}
        tensors.append(list(zip(*shapes, strict=True)) if len(ranks) == 1 else [])
    return tensors


def fit_operands(
    samples: Sequence[Sample], checks: Sequence[Sample], call: int
) -> list[Dims]:
    """Return the dims of every input tensor of a call of the first sample, as formulas.

    None stands for a dim without one. Each is fitted to `samples`, and kept where
    every run of `checks` that made the call agrees, and at least one does.
    """
    first = samples[0]
    work = Work(samples)
    work.done()
    operands = work.entering(call)
    places = [_align_calls(first, check)[call] for check in checks]
    checks_with_call = [
        (check, at) for check, at in zip(checks, places, strict=True) if at is not None
    ]
    known = set(first.letters)

    def kept(formula: Formula, nth: int, dim: int) -> Formula:
        if formula is None or not checks_with_call or not formula.letters() <= known:
            return None
        for check, at in checks_with_call:
            shapes = check.taken[at]
            if nth >= len(shapes) or dim >= len(shapes[nth]):
                return None
            if formula.value(check.letters) != shapes[nth][dim]:
                return None
        return formula

    return [
        tuple(kept(formula, nth, dim) for dim, formula in enumerate(dims))
        for nth, dims in enumerate(operands)
    ]


def cut_sample(sample: Any, call: int) -> Any:
    """Cut a sample off at a refused call: keep its inputs, drop its outputs."""
    return replace(
        sample,
        keys=sample.keys[: call + 1],
        taken=sample.taken[: call + 1],
        given=(*sample.given[:call], ()),
        steps=(*sample.steps[:call], ()),
        numbers=sample.numbers[: call + 1],
    )
