"""The autograd graph of a run, read from its record: which calls a loss was computed
by, which backward passes ran, which calls wrote to a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op

PASSES = frozenset({"Tensor.backward", "autograd.backward", "autograd.grad"})
"""Names of the calls that run a backward pass."""

MOST_CALLS = 20_000
"""Calls of one graph that are followed."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A tensor of a graph: the call that made it and a call that used it."""

    fact: Fact
    maker: Op
    user: Op


MOST_INSIDE = 40
"""Tensors inside a function of the program's own that are followed."""


class History:
    """The calls of a run, as its autograd graphs see them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.writers: dict[int, list[Op]] = {}  # by storage
        self.makers: dict[int, list[Op]] = {}  # by tensor, writes included
        self.passes: list[Op] = []
        for op in program.trace.ops:
            if _is_backward_pass(op):
                self.passes.append(op)
            for fact in op.outputs:
                self.makers.setdefault(fact.tensor, []).append(op)
            if op.kind == "inplace" and op.outputs:
                self.writers.setdefault(op.outputs[0].storage, []).append(op)

    def collect_graph(self, facts: tuple[Fact, ...], before: int) -> dict[int, Op]:
        """Return the calls that computed tensors, by index, as far as their gradients
        are followed.
        """
        graph: dict[int, Op] = {}
        waiting = [fact for fact in facts if fact.requires_grad]
        seen: set[int] = set()
        while waiting and len(graph) < MOST_CALLS:
            fact = waiting.pop()
            if fact.tensor in seen:
                continue
            seen.add(fact.tensor)
            known = len(graph)
            for op in self.makers.get(fact.tensor, ()):
                output = next(o for o in op.outputs if o.tensor == fact.tensor)
                if op.index >= before or not output.requires_grad or output.is_leaf:
                    continue
                graph[op.index] = op
                waiting += [source for source in op.inputs if source.requires_grad]
            if len(graph) == known and not fact.is_leaf:
                waiting += self._find_function_inputs(fact, before)
        return graph

    def _find_function_inputs(self, fact: Fact, before: int) -> list[Fact]:
        """Return what the program's own `autograd.Function` was given that returned a
        tensor: its calls are recorded without a graph.
        """
        sources: list[Fact] = []
        waiting, seen = [fact], set[int]()
        while waiting and len(seen) < MOST_INSIDE:
            part = waiting.pop()
            if part.tensor in seen:
                continue
            seen.add(part.tensor)
            for op in self.makers.get(part.tensor, ()):
                for source in op.inputs if op.index < before else ():
                    (sources if source.requires_grad else waiting).append(source)
        return sources

    def iter_edges(self, users: dict[int, Op], makers: dict[int, Op]) -> Iterator[Edge]:
        """Yield the tensors that calls of `makers` made and calls of `users` alone use,
        in the order of the run.
        """
        for index in sorted(users):
            if index in makers:
                continue
            for fact in users[index].inputs:
                maker = self.find_maker(fact, index)
                if maker is not None and maker.index in makers and fact.requires_grad:
                    yield Edge(fact, maker, users[index])

    def find_maker(self, fact: Fact, before: int) -> Op | None:
        """Return the last call before an index that made or wrote a tensor."""
        ops = [op for op in self.makers.get(fact.tensor, ()) if op.index < before]
        return ops[-1] if ops else None

    def find_text(self, span: Span | None) -> tuple[SourceText, ast.stmt] | None:
        """Return the statement at a span, with the text of its file."""
        text = self.program.text(span.file) if span is not None else None
        if text is None or span is None:
            return None
        node = text.node(span)
        near = node if node is not None else next(iter(text.near(span.line)), None)
        return None if near is None else (text, text.statement_of(near))


def _is_backward_pass(op: Op) -> bool:
    """Return whether a call runs a backward pass."""
    return op.name in PASSES or op.name.endswith((".backward", "autograd.grad"))


def is_graph_kept(op: Op) -> bool:
    """Return whether a backward pass was told to keep its graph."""
    arguments = dict(op.arguments)
    return bool(arguments.get("retain_graph") or arguments.get("create_graph"))


def find_common_frames(first_op: Op, second_op: Op) -> Iterator[tuple[str, Span, Span]]:
    """Yield each function that two calls were called from, the innermost first, with
    the spans of both in it.
    """
    first = [*first_op.frames]
    for frame in reversed(second_op.frames):
        for mine in reversed(first):
            if (mine.function, mine.span.file) == (frame.function, frame.span.file):
                yield frame.function, mine.span, frame.span
                break


def find_later_user(
    history: History, edge: Edge, graph: dict[int, Op], first: Op
) -> Op:
    """Return the call behind a backward pass through which a later graph reaches one
    that the pass freed: what used the tensor itself may stand before the pass.
    """
    if edge.user.index > first.index:
        return edge.user
    reached = {edge.user.index}
    for index in sorted(graph):
        makers = [history.find_maker(fact, index) for fact in graph[index].inputs]
        if any(maker is not None and maker.index in reached for maker in makers):
            if index > first.index:
                return graph[index]
            reached.add(index)
    return edge.user
