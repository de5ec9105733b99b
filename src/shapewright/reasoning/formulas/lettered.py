"""A trace whose sizes print as their formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

from shapewright.dims.size import sized
from shapewright.reasoning.formulas.fitted import CallFormulas, Dims
from shapewright.trace.fact import Fact
from shapewright.trace.module import ModuleCall
from shapewright.trace.op import Op
from shapewright.trace.record import Trace

Item = TypeVar("Item")


class Later(Sequence[Item]):
    """A sequence that is made when it is first read."""

    __slots__ = ("_length", "_made", "_make")

    def __init__(self, length: int, make: Callable[[], Iterable[Item]]) -> None:
        self._length = length
        self._make = make
        self._made: tuple[Item, ...] | None = None

    def _read(self) -> tuple[Item, ...]:
        if self._made is None:
            self._made = tuple(self._make())
        return self._made

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        return self._read()[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._read())


def lettered(
    trace: Trace,
    calls: Sequence[CallFormulas],
    given: Sequence[Dims],
    strides: Sequence[Dims] | None = None,
) -> Trace:
    """The trace with a formula for every size that has one.

    `calls` are the formulas of its ops in order, `given` those of the tensors that the
    target was given, in the order of its arguments. `strides` are those of what was
    returned, where it is known of which calls that came; else the record is looked up.
    """
    letters = _Letters(trace, calls, given, strides)
    return replace(
        trace,
        ops=Later(len(trace.ops), letters.ops),
        calls=Later(len(trace.calls), letters.calls),
        output=letters.output,
    )


class _Letters:
    """The facts of a trace with their formulas; made once for each fact."""

    def __init__(
        self,
        trace: Trace,
        calls: Sequence[CallFormulas],
        given: Sequence[Dims],
        strides: Sequence[Dims] | None = None,
    ) -> None:
        self.trace = trace
        self.formulas = calls
        self.known: dict[tuple[int, tuple[int, ...]], tuple[Dims, Dims]] = {}
        self.facts: dict[Fact, Fact] = {}
        self.read = False
        self.given = given
        self.strides = strides
        self.states = {state.fact.tensor for state in trace.states}

    def look(self) -> None:
        """Learn the formulas of every tensor of the run."""
        if self.read:
            return
        self.read = True
        if self.trace.calls:
            args, kwargs = self.trace.calls[0].inputs
            entered = facts_in([args, kwargs])
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
        """The fact, its sizes with formulas."""
        found = self.facts.get(fact)
        if found is None:
            shapes, strides = self.known.get((fact.tensor, fact.shape), ((), ()))
            found = replace(
                fact,
                shape=with_formulas(fact.shape, shapes),
                stride=with_formulas(fact.stride, strides),
            )
            self.facts[fact] = found
        return found

    def ops(self) -> Iterator[Op]:
        """The ops; their numbers have formulas as well."""
        self.look()
        for at, op in enumerate(self.trace.ops):
            formulas = self.formulas[at] if at < len(self.formulas) else None
            numbers = iter(formulas.numbers if formulas else ())
            yield replace(
                op,
                inputs=tuple(self.fact(each) for each in op.inputs),
                outputs=tuple(self.fact(each) for each in op.outputs),
                arguments=tuple(
                    (name, numbered(value, numbers)) for name, value in op.arguments
                ),
            )

    def calls(self) -> Iterator[ModuleCall]:
        """The module calls."""
        self.look()
        for call in self.trace.calls:
            yield replace(
                call, inputs=self.nest(call.inputs), output=self.nest(call.output)
            )

    @property
    def output(self) -> Any:
        """What the target returned."""
        if self.strides is None:
            self.look()
        ends = iter(self.strides or ())
        last = self.formulas[-1] if len(self.formulas) > len(self.trace.ops) else None
        returned = iter(last.shapes if last is not None else ())
        return self.returned(self.trace.output, returned, ends)

    def returned(
        self, value: Any, shapes: Iterator[Dims], strides: Iterator[Dims]
    ) -> Any:
        """What came out, in order; which tensor it is may differ from run to run."""
        if isinstance(value, Fact):
            dims = next(shapes, ())
            if self.strides is None:
                fact = self.fact(value)
            else:
                steps = with_formulas(value.stride, next(strides, ()))
                fact = replace(value, stride=steps)
            plain = tuple(map(int, fact.shape))
            return replace(fact, shape=with_formulas(plain, dims)) if dims else fact
        if isinstance(value, dict):
            return {
                key: self.returned(each, shapes, strides) for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.returned(each, shapes, strides) for each in value]
        if isinstance(value, tuple):
            return tuple(self.returned(each, shapes, strides) for each in value)
        return value

    def nest(self, value: Any) -> Any:
        """A nest, its facts with formulas."""
        if isinstance(value, Fact):
            return self.fact(value)
        if isinstance(value, dict):
            return {key: self.nest(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.nest(each) for each in value]
        if isinstance(value, tuple):
            return tuple(self.nest(each) for each in value)
        return value


def with_formulas(sizes: Any, formulas: Dims) -> Any:
    """Sizes with their formulas, where there is one for each."""
    if sizes is None or len(sizes) != len(formulas):
        return sizes
    return tuple(
        sized(size, formula) for size, formula in zip(sizes, formulas, strict=True)
    )


def numbered(value: Any, formulas: Iterator[Any]) -> Any:
    """The whole numbers of an argument with their formulas, in order."""
    if isinstance(value, tuple):
        return tuple(numbered(each, formulas) for each in value)
    if isinstance(value, list):
        return [numbered(each, formulas) for each in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return sized(value, next(formulas, None))
    return value


def facts_in(nest: Any) -> list[Fact]:
    """The facts of a nest, in order."""
    if isinstance(nest, Fact):
        return [nest]
    if isinstance(nest, dict):
        return [fact for value in nest.values() for fact in facts_in(value)]
    if isinstance(nest, list | tuple):
        return [fact for value in nest for fact in facts_in(value)]
    return []
