"""A program's run under analysis: its trace, its failures and the program's text."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from shapewright.findings.faults import raise_in_tests
from shapewright.findings.finding import Finding
from shapewright.operators.failed_calls import Ending, Failure, Misloaded
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span, is_installed
from shapewright.record.data_values import DataValues
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves
from shapewright.record.report import LastBatch, ListField, Rehearsal
from shapewright.record.trace import Trace

Item = TypeVar("Item")


def as_far_as_known(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items until computing one fails."""
    try:
        yield from items
    except Exception as fault:  # ours: what was found before is shown
        raise_in_tests(fault)


class ConstructorCall(Protocol):
    """The call that constructed a module."""

    @property
    def span(self) -> Span: ...
    @property
    def class_name(self) -> str: ...
    @property
    def arguments(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> tuple[tuple[str, Any], ...]: ...


@dataclass
class Program:
    """A run and the text of its program.

    `built` is by module path; `loads` are the state dicts that did not fit; `ending` is
    what names meant where the program's own Python raised; `batches` are the numbers of
    tensors whose dim 0 counts the samples of a loader's batch, `remainders` the last
    batches that had fewer; `lists` the fields of items that are lists of numbers;
    `rehearsal` is the story of a script that was rehearsed. `data_values` are what
    data of the program held, by the number of their tensor.
    """

    trace: Trace
    failures: Sequence[Failure] = ()
    built: Mapping[str, ConstructorCall] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    loads: Sequence[tuple[Span, Misloaded]] = ()
    ending: Ending | None = None
    batches: Collection[int] = frozenset()
    remainders: Sequence[LastBatch] = ()
    rehearsal: Rehearsal | None = None
    lists: Sequence[ListField] = ()
    data_values: Mapping[int, DataValues] = field(default_factory=dict)
    _texts: dict[str, SourceText | None] = field(default_factory=dict)

    def text(self, file: str) -> SourceText | None:
        """Return a file of the program, parsed; None if its text is not known."""
        if file not in self._texts:
            source = self.trace.sources.get(file)
            source_text = source.text if source else self.sources.get(file)
            self._texts[file] = (
                SourceText(file, source_text) if source_text is not None else None
            )
        return self._texts[file]

    def own_texts(self) -> Iterator[SourceText]:
        """Yield the files of the program, without those of installed libraries."""
        for file in dict.fromkeys((*self.trace.sources, *self.sources)):
            text = self.text(file)
            if text is not None and not is_installed(file):
                yield text

    def defines_class(self, name: str) -> bool:
        """Return whether the program itself defines a class of this name, which says
        nothing of a layer of torch that is called so.
        """
        return any(
            isinstance(definition, ast.ClassDef)
            for text in self.own_texts()
            for _, definition in text.definitions(name)
        )

    def node(self, span: Span | None) -> tuple[SourceText, ast.expr | ast.stmt] | None:
        """Return the expression or statement at a span."""
        text = self.text(span.file) if span is not None else None
        if text is None or span is None:
            return None
        node = text.node(span)
        return None if node is None else (text, node)

    def call_at(self, span: Span | None) -> tuple[SourceText, ast.Call] | None:
        """Return the call at a span, or None if there is no call."""
        node = self.node(span)
        if node is None or not isinstance(node[1], ast.Call):
            return None
        return node[0], node[1]

    def iter_calls(self, finding: Finding) -> Iterator[tuple[SourceText, ast.Call]]:
        """Yield the calls at the place of a finding, and then at its related places."""
        for span in (finding.span, *(related.span for related in finding.related)):
            place = self.node(span)
            around = place[0].parent(place[1]) if place is not None else None
            if isinstance(around, ast.Call) and place and around.func is place[1]:
                yield place[0], around
            for node in ast.walk(place[1]) if place is not None else ():
                if place is not None and isinstance(node, ast.Call):
                    yield place[0], node

    def op_at(self, span: Span | None, module: str = "") -> Op | None:
        """Return the first op at a span, of a module if it has calls there, or None."""
        ops = [op for op in self.trace.ops if op.span == span]
        of_module = (op for op in ops if op.module == module)
        return next(of_module, ops[0] if ops else None)

    @cached_property
    def producers(self) -> dict[int, Op]:
        """Return the op that first produced every tensor, by the tensor's number."""
        producers: dict[int, Op] = {}
        for op in self.trace.ops:
            input_tensors = {fact.tensor for fact in op.inputs}
            for fact in op.outputs:
                if fact.tensor not in input_tensors:
                    producers.setdefault(fact.tensor, op)
        return producers

    @cached_property
    def states(self) -> dict[int, str]:
        """Return the path of every parameter and buffer, by the tensor's number."""
        paths: dict[int, str] = {}
        for state in self.trace.states:
            paths.setdefault(state.fact.tensor, state.path)
        return paths

    @cached_property
    def inputs(self) -> dict[int, str]:
        """Return the names of the root module's inputs, by the tensor's number."""
        if not self.trace.calls:
            return {}
        args, kwargs = self.trace.calls[0].inputs
        names: dict[int, str] = {}
        for at, value in enumerate(args):
            for fact in collect_leaves(value):
                names.setdefault(fact.tensor, f"input {at + 1}" if at else "the input")
        for name, value in kwargs.items():
            for fact in collect_leaves(value):
                names.setdefault(fact.tensor, f"`{name}`")
        return names

    def call_of(self, op: Op) -> ModuleCall | None:
        """Return the module call during which an op ran, or None."""
        return self._calls.get((op.module, op.call))

    @cached_property
    def _calls(self) -> dict[tuple[str, int], ModuleCall]:
        """Return the first module call of every path and number."""
        calls: dict[tuple[str, int], ModuleCall] = {}
        for call in self.trace.calls:
            calls.setdefault((call.path, call.call), call)
        return calls

    def layer(self, op: Op) -> ModuleCall | None:
        """Return the layer call that an op belongs to, such as that of `fc1` in
        `self.fc1(x)`.

        None where the user's own code made the call.
        """
        call = self.call_of(op)
        if call is None or call.parent is None or call.span is None:
            return None
        return call if call.span == op.span else None


def format_shape(fact: Fact) -> str:
    """Return a tensor's shape as text: `(8, 256)`."""
    sizes = ", ".join(map(str, fact.shape))
    return f"({sizes},)" if len(fact.shape) == 1 else f"({sizes})"


def format_product(sizes: tuple[int, ...]) -> str:
    """Return sizes as a product: `16·4·4`."""
    return "·".join(map(str, sizes))


def fill_lazy_parts(program: Program) -> Program:
    """Return the program with all lazily computed parts filled in, ready to be sent."""
    trace = program.trace
    whole = replace(
        trace,
        ops=tuple(trace.ops),
        calls=tuple(trace.calls),
        states=tuple(trace.states),
    )
    return Program(
        whole, program.failures, program.built, program.sources, program.loads,
        program.ending, program.batches, program.remainders, program.rehearsal,
        program.lists, program.data_values,
    )  # fmt: skip
