"""Build a trace whose sizes print as formulas, shortened as far as the accepted sizes
allow, and check it against another sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shapewright.analysis.formulas.call_formulas import (
    UNKNOWN,
    CallFormulas,
    Dims,
    Sample,
)
from shapewright.record.ops import Fact, Lazy, ModuleCall, Op
from shapewright.record.trace import Trace
from shapewright.sizes.expressions import Expression, attach_formula
from shapewright.sizes.floor_division import is_rounded, simplify_multiples


def attach_formulas(
    trace: Trace,
    calls: Sequence[CallFormulas],
    input_dims: Sequence[Dims],
    strides: Sequence[Dims] | None = None,
) -> Trace:
    """Return the trace with a formula for every size that has one.

    `calls` are the formulas of its ops in order, `input_dims` those of the tensors that
    the target was given, in the order of its arguments. `strides` are those of what was
    returned, where it is known of which calls that came; else the record is looked up.
    """
    letters = _Letters(trace, calls, input_dims, strides)
    return replace(
        trace,
        ops=Lazy(len(trace.ops), letters.ops),
        calls=Lazy(len(trace.calls), letters.calls),
        output=letters.output,
    )


class _Letters:
    """Adds formulas to the facts of a trace; every fact is converted once."""

    def __init__(
        self,
        trace: Trace,
        calls: Sequence[CallFormulas],
        input_dims: Sequence[Dims],
        strides: Sequence[Dims] | None = None,
    ) -> None:
        self.trace = trace
        self.formulas = calls
        self.known: dict[tuple[int, tuple[int, ...]], tuple[Dims, Dims]] = {}
        self.facts: dict[Fact, Fact] = {}
        self.read = False
        self.given = input_dims
        self.strides = strides
        self.states = {state.fact.tensor for state in trace.states}

    def look(self) -> None:
        """Collect the formulas of every tensor of the run."""
        if self.read:
            return
        self.read = True
        if self.trace.calls:
            args, kwargs = self.trace.calls[0].inputs
            entered = _collect_facts([args, kwargs])
            for fact, dims in zip(entered, self.given, strict=False):
                self.known.setdefault((fact.tensor, fact.shape), (dims, ()))
        for op, formulas in zip(self.trace.ops, self.formulas, strict=False):
            for at, fact in enumerate(op.outputs):
                if at >= len(formulas.shapes) or fact.tensor in self.states:
                    continue
                strides = formulas.strides[at] if at < len(formulas.strides) else ()
                self.known.setdefault(
                    (fact.tensor, fact.shape), (formulas.shapes[at], strides)
                )

    def fact(self, fact: Fact) -> Fact:
        """Return the fact with formulas for its sizes."""
        lettered_fact = self.facts.get(fact)
        if lettered_fact is None:
            shapes, strides = self.known.get((fact.tensor, fact.shape), ((), ()))
            lettered_fact = replace(
                fact,
                shape=_with_formulas(fact.shape, shapes),
                stride=_with_formulas(fact.stride, strides),
            )
            self.facts[fact] = lettered_fact
        return lettered_fact

    def ops(self) -> Iterator[Op]:
        """Yield the ops, with formulas for their numbers too."""
        self.look()
        for at, op in enumerate(self.trace.ops):
            formulas = self.formulas[at] if at < len(self.formulas) else None
            numbers = iter(formulas.numbers if formulas else ())
            yield replace(
                op,
                inputs=tuple(self.fact(fact) for fact in op.inputs),
                outputs=tuple(self.fact(fact) for fact in op.outputs),
                arguments=tuple(
                    (name, _attach_to_numbers(value, numbers))
                    for name, value in op.arguments
                ),
            )

    def calls(self) -> Iterator[ModuleCall]:
        """Yield the module calls with formulas."""
        self.look()
        for call in self.trace.calls:
            yield replace(
                call, inputs=self.nest(call.inputs), output=self.nest(call.output)
            )

    @property
    def output(self) -> Any:
        """Return the target's return value with formulas attached to it."""
        if self.strides is None:
            self.look()
        ends = iter(self.strides or ())
        last = self.formulas[-1] if len(self.formulas) > len(self.trace.ops) else None
        returned = iter(last.shapes if last is not None else ())
        return self.returned(self.trace.output, returned, ends)

    def returned(
        self, value: Any, shapes: Iterator[Dims], strides: Iterator[Dims]
    ) -> Any:
        """Attach formulas to the returned facts in order, as runs may return different
        tensors.
        """
        if isinstance(value, Fact):
            dims = next(shapes, ())
            if self.strides is None:
                fact = self.fact(value)
            else:
                steps = _with_formulas(value.stride, next(strides, ()))
                fact = replace(value, stride=steps)
            plain = tuple(map(int, fact.shape))
            return replace(fact, shape=_with_formulas(plain, dims)) if dims else fact
        if isinstance(value, dict):
            return {
                key: self.returned(item, shapes, strides) for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.returned(item, shapes, strides) for item in value]
        if isinstance(value, tuple):
            return tuple(self.returned(item, shapes, strides) for item in value)
        return value

    def nest(self, value: Any) -> Any:
        """Return a nested structure (tuples, lists, dicts) with formulas in its
        facts.
        """
        if isinstance(value, Fact):
            return self.fact(value)
        if isinstance(value, dict):
            return {key: self.nest(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.nest(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.nest(item) for item in value)
        return value


def _with_formulas(sizes: Any, formulas: Dims) -> Any:
    """Attach formulas to sizes, if there is a formula for every size."""
    if sizes is None or len(sizes) != len(formulas):
        return sizes
    return tuple(
        attach_formula(size, formula)
        for size, formula in zip(sizes, formulas, strict=True)
    )


def _attach_to_numbers(value: Any, formulas: Iterator[Any]) -> Any:
    """Attach formulas to the integers of an argument, in order."""
    if isinstance(value, tuple):
        return tuple(_attach_to_numbers(item, formulas) for item in value)
    if isinstance(value, list):
        return [_attach_to_numbers(item, formulas) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return attach_formula(value, next(formulas, None))
    return value


def _collect_facts(nest: Any) -> list[Fact]:
    """Return the facts of a nested structure (tuples, lists, dicts), in order."""
    if isinstance(nest, Fact):
        return [nest]
    if isinstance(nest, dict):
        return [fact for value in nest.values() for fact in _collect_facts(value)]
    if isinstance(nest, list | tuple):
        return [fact for value in nest for fact in _collect_facts(value)]
    return []


def shorten_formulas(
    calls: Sequence[CallFormulas], steps: Mapping[str, int]
) -> list[CallFormulas]:
    """Shorten formulas whose letters are multiples of a step: `2*(H//2)` is `H`."""
    return _change_formulas(calls, lambda formula: simplify_multiples(formula, steps))


def drop_uncertain(
    calls: Sequence[CallFormulas], open_: Collection[Expression]
) -> list[CallFormulas]:
    """Return the formulas without the uncertain ones."""
    if not open_:
        return list(calls)
    return _change_formulas(
        calls, lambda formula: UNKNOWN if formula in open_ else formula
    )


def _change_formulas(
    calls: Sequence[CallFormulas], change: Callable[[Expression], Expression]
) -> list[CallFormulas]:
    """Apply a change to all formulas, once per distinct formula."""
    known: dict[Expression, Expression] = {}
    changed_calls: dict[int, CallFormulas] = {}

    def dims(formulas: Dims) -> Dims:
        return tuple(
            None if formula is None else short(formula) for formula in formulas
        )

    def short(formula: Expression) -> Expression:
        short_formula = known.get(formula)
        if short_formula is None:
            short_formula = known[formula] = change(formula)
        return short_formula

    def of(call: CallFormulas) -> CallFormulas:
        formulas = changed_calls.get(id(call))
        if formulas is None:
            formulas = changed_calls[id(call)] = CallFormulas(
                tuple(map(dims, call.shapes)),
                tuple(map(dims, call.strides)),
                dims(call.numbers),
            )
        return formulas

    return [of(call) for call in calls]


Pair = tuple[Dims, tuple[int, ...]]


def is_consistent(
    calls: Sequence[CallFormulas], classes: Sequence[int], sample: Sample
) -> bool:
    """Return whether the formulas of all calls match a sample that has every call.

    Of the calls of one class only the first is looked at. The stride of a dim of one
    element may be anything.
    """
    values: dict[Expression, int | None] = {}
    letters = sample.letters
    for at in _iter_first_calls(calls, classes):
        for formulas, numbers in _pair_formulas(calls[at], sample, at):
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


def _iter_first_calls(
    calls: Sequence[CallFormulas], classes: Sequence[int]
) -> Iterator[int]:
    """Yield the first call of every class."""
    seen: set[int] = set()
    for at in range(len(calls)):
        kind = classes[at] if at < len(classes) else -1 - at
        if kind not in seen:
            seen.add(kind)
            yield at


def _pair_formulas(call: CallFormulas, sample: Sample, at: int) -> Iterator[Pair]:
    """Yield the formulas of a call, paired with the numbers of a sample."""
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


def is_plain(calls: Sequence[CallFormulas], classes: Sequence[int]) -> bool:
    """Return whether all formulas are sums and products, without rounding or bounds."""
    formulas = {
        formula
        for at in _iter_first_calls(calls, classes)
        for dims in (*calls[at].shapes, *calls[at].strides, calls[at].numbers)
        for formula in dims
        if formula is not None
    }
    return not any(map(is_rounded, formulas))
