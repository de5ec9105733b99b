"""Find sums, averages and joined tensors that are kept with the graphs of what was
added to them.

Each turn adds to what the turn before left, a backward pass ends the turn, and no pass
begins at the sum or at what follows from it: so its graph is of no use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import GRAPH_KEPT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import get_receiver
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

SUMS = frozenset({"+", "add", "+=", "add_", "__add__", "__radd__", "__iadd__"})
SUMS |= operators_with("subtracts") | {"-=", "sub_"}
JOINS = operators_with("concatenates") | {"hstack", "vstack"}
"""Calls that make what was collected longer: `all = torch.cat((all, scores))`."""
SCALES = operators_with("divides_elements") | {"*", "mul", "__mul__", "__rmul__"}
PASSES = frozenset({"backward", "grad"})
LEAST = 3
"""Turns whose graphs are kept before anything is said."""
NEAREST = 3
"""Calls between what one turn left and what the next adds to it."""


def find_kept_statistics(scene: RehearsalContext) -> Iterator[Finding]:
    """Find running sums that keep the graph of each turn and train nothing."""
    ops = scene.program.trace.ops
    passes = [op for op in ops if op.name.rpartition(".")[2] in PASSES]
    lengths: dict[int, int] = {}
    written: dict[object, Op] = {}  # in place
    seen: set[object] = set()
    for op in ops if passes else ():
        if op.name.rpartition(".")[2] not in SUMS | JOINS or len(op.inputs) != 2:
            continue
        if not op.outputs or not op.outputs[0].requires_grad or op.span is None:
            continue
        before = _find_earlier_sum(scene, op)
        if op.kind == "inplace":
            target = op.inputs[0]  # a leaf is a weight that is updated by hand
            key = op.span, target.tensor
            has_graph = target.requires_grad and not target.is_leaf
            before = written.get(key) if has_graph else None
            written[key] = op
        between = range(before.index, op.index) if before is not None else range(0)
        if before is None or not any(turn.index in between for turn in passes):
            lengths[op.index] = 1
            continue
        lengths[op.index] = lengths.get(before.index, 1) + 1
        if lengths[op.index] < LEAST or op.span in seen:
            continue
        seen.add(op.span)
        place = scene.program.node(op.span)
        if place is None or _is_differentiated(scene, op, passes):
            continue
        text, node = place
        statement = text.statement_of(node)
        name = _get_target(statement)
        if name is None:
            continue
        yield build_finding(
            GRAPH_KEPT,
            f"`{text.written(name)}` is kept with its graph, so that what each turn"
            " computes is held, and no backward pass begins at it",
            text.span(statement),
            (op.span, "what is added has a graph: `detach()` keeps the values only"),
        )


def _find_earlier_sum(scene: RehearsalContext, op: Op) -> Op | None:
    """Return the sum of the turn before, to which a sum adds, or None."""
    for fact in op.inputs:
        if not fact.requires_grad or fact.is_leaf:
            continue
        for _ in range(NEAREST):
            maker = scene.program.producers.get(fact.tensor)
            if maker is None or not maker.inputs or maker.index >= op.index:
                break
            if maker.span == op.span and maker.name == op.name:
                return maker
            if maker.name.rpartition(".")[2] not in SCALES or len(maker.inputs) != 1:
                break
            fact = maker.inputs[0]
    return None


def _is_differentiated(scene: RehearsalContext, op: Op, passes: list[Op]) -> bool:
    """Return whether a pass begins at a sum of these, or at what follows from one."""
    starts = {fact.tensor for turn in passes for fact in turn.inputs[:1]}
    follows: set[int] = set()
    for later in scene.program.trace.ops:
        is_sum = later.span == op.span
        if is_sum or any(fact.tensor in follows for fact in later.inputs):
            outs = [out for out in later.outputs if out.requires_grad]
            follows |= {out.tensor for out in outs if not out.is_leaf}
    return bool(starts & follows)


def _get_target(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement keeps a sum as: an attribute or an item, or a name; of
    `total.add_(x)` the tensor that is written to.
    """
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        is_write = get_called_name(statement.value).endswith("_")
        return get_receiver(statement.value) if is_write else None
    if isinstance(statement, ast.AugAssign):
        return statement.target
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target if not isinstance(target, ast.Tuple) else None
    return None
