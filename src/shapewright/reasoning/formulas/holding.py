"""Whether formulas say what a sample shows that took no part in finding them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapewright.dims.expression import Expression
from shapewright.dims.rounding import is_rounded
from shapewright.reasoning.formulas.aligning import Sample
from shapewright.reasoning.formulas.fitted import CallFormulas, Dims

Pair = tuple[Dims, tuple[int, ...]]


def holds(
    calls: Sequence[CallFormulas], classes: Sequence[int], sample: Sample
) -> bool:
    """Whether the formulas of all calls give the numbers of a sample with every call.

    Of the calls of one class only the first is looked at. The stride of a dim of one
    element may be anything.
    """
    values: dict[Expression, int | None] = {}
    letters = sample.letters
    for at in firsts(calls, classes):
        for formulas, numbers in beside(calls[at], sample, at):
            for formula, number in zip(formulas, numbers, strict=False):
                if formula is None:
                    continue
                if formula not in values:
                    known = formula.letters() <= letters.keys()
                    values[formula] = formula.value(letters) if known else None
                value = values[formula]
                if value is not None and value != number:
                    return False
    return True


def firsts(calls: Sequence[CallFormulas], classes: Sequence[int]) -> Iterator[int]:
    """The first call of each class."""
    seen: set[int] = set()
    for at in range(len(calls)):
        kind = classes[at] if at < len(classes) else -1 - at
        if kind not in seen:
            seen.add(kind)
            yield at


def beside(call: CallFormulas, sample: Sample, at: int) -> Iterator[Pair]:
    """Formulas of a call, and the numbers that stand there in a sample."""
    yield from zip(call.shapes, sample.given[at], strict=False)
    for formulas, steps, shape in zip(
        call.strides, sample.steps[at], sample.given[at], strict=False
    ):
        several = [nth for nth, size in enumerate(shape) if size > 1]
        if len(formulas) == len(steps) == len(shape):
            yield (
                tuple(formulas[nth] for nth in several),
                tuple(steps[nth] for nth in several),
            )
    yield call.numbers, sample.numbers[at]


def are_plain(calls: Sequence[CallFormulas], classes: Sequence[int]) -> bool:
    """Whether all formulas are sums and products: none is rounded, none bounded."""
    found = {
        formula
        for at in firsts(calls, classes)
        for dims in (*calls[at].shapes, *calls[at].strides, calls[at].numbers)
        for formula in dims
        if formula is not None
    }
    return not any(map(is_rounded, found))
