"""Which write changed a tensor that a backward pass needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.autograd_errors.history import Edge, History
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

MESSAGE = re.compile(
    r"\[[\w.]+ \[(?P<sizes>[\d, ]*)\]\](?:, which is output \d+ of (?P<node>\w+))?"
)

SAVES_NOTHING = operators_with("adds_terms") | {"[]=", "__setitem__"}
SAVES_OPERANDS = operators_with(
    "is_product", "is_convolution", "is_transposed_convolution", "gives_logits"
)
"""Operators whose gradient is computed of what they were given, not of their result."""


def find_write(history: History, failing: Op, message: str) -> tuple[Edge, Op] | None:
    """Find the tensor that torch's message describes, as the edge from the call that
    made it to the call that saved it, and the call that wrote to it afterwards.
    """
    graph = history.collect_graph(failing.inputs, failing.index)
    match = re.search(MESSAGE, message)
    sizes = match["sizes"] if match is not None else ""
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    node = (match["node"] or "") if match is not None else ""
    candidates = []
    for index in sorted(graph):
        op = graph[index]
        for fact, maker in _iter_saved(history, op):
            write = _find_later_write(history, fact, index, failing.index)
            if write is not None:
                rank = _rank(fact, op, shape, node, match is not None)
                candidates.append((rank, -index, Edge(fact, maker, op), write))
    if not candidates:
        return None
    _, _, edge, write = min(candidates, key=lambda candidate: candidate[:2])
    return edge, write


def _iter_saved(history: History, op: Op) -> Iterator[tuple[Fact, Op]]:
    """Yield the tensors that a call may have saved, each with the call that made it."""
    name = op.name.rpartition(".")[2]
    if name in SAVES_NOTHING or op.kind == "view":
        return
    for fact in op.outputs if name not in SAVES_OPERANDS else ():
        yield fact, op
    for fact in op.inputs:
        maker = history.find_maker(fact, op.index)
        yield fact, maker if maker is not None else op


def _find_later_write(
    history: History, fact: Fact, after: int, before: int
) -> Op | None:
    """Return the first call that wrote to a tensor's storage in a part of the run."""
    for write in history.writers.get(fact.storage, ()):
        if after < write.index < before:
            return write
    return None


def _rank(
    fact: Fact, op: Op, shape: tuple[int, ...], node: str, known: bool
) -> tuple[int, ...]:
    """Rank a tensor by how well it fits what torch's message says of it."""
    same = fact.shape == shape or fact.shape == shape[::-1]
    own = any(fact.tensor == out.tensor for out in op.outputs)
    short = (fact.grad_fn or "").removesuffix("Backward0")
    bare = node.removesuffix("Backward0")
    named = bool(bare) and short == bare
    return (known and not same, known and not named, known and named and not own)
