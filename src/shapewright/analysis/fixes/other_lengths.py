"""Tensors that are longer than what they meet: by the last item of a list, as long as
the whole data set, with the numbers of all nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    INDEX_OUT_OF_RANGE,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
)
from shapewright.record.ops import Fact, Op

OF_LENGTHS = frozenset({BATCH_DIM_MISMATCH, BROADCAST_MISMATCH, TARGET_SHAPE})
STACKS = operators_with("joins_tensors")
PICKS = operators_with("reads_by_index")
FARTHEST = 6
"""Calls between the numbers of nodes and the rows that they read."""


def suggest_without_last(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `values[:-1]` for a stack of a list that got one more item behind the
    loop that fills it, such as the value that bootstraps returns.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    sides = find_sides(failure)
    place = program.node(op.span)
    if unmet is None or unmet.code not in OF_LENGTHS or place is None:
        return
    if sides[0] is None or sides[1] is None or (sides[0][1], sides[1][1]) != (0, 0):
        return
    facts = [(at, op.inputs[at]) for at, _ in (sides[0], sides[1])]
    (at, longer), (_, shorter) = sorted(facts, key=lambda pair: -pair[1].shape[0])
    if longer.shape[0] != shorter.shape[0] + 1:
        return
    expression = find_tensor_expressions(program, op)[at]
    maker = program.producers.get(longer.tensor)
    if expression is None or maker is None or len(maker.inputs) != longer.shape[0]:
        return
    if maker.name.rpartition(".")[2] not in STACKS:
        return
    if isinstance(expression[0], ast.Name) and _has_late_item(place[0], op, maker):
        edit = Edit(place[0].span(expression[0]).end, "[:-1]")
        yield Fix("fits", f"`{expression[0].id}[:-1]`", (edit,))


def _has_late_item(text: SourceText, op: Op, maker: Op) -> bool:
    """Return whether a list of as many items is filled in a loop, and gets another item
    behind it.
    """
    for loop in text.nodes:
        if not isinstance(loop, ast.For | ast.While):
            continue
        filled = {name for _, name in _iter_appends(ast.walk(loop))}
        for call, name in _iter_appends(text.nodes):
            is_behind = call.lineno > (loop.end_lineno or 0) and name in filled
            if is_behind and text.around(call, *LOOPS) is text.around(loop, *LOOPS):
                return op.span is not None and maker.span is not None
    return False


def _iter_appends(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls that append to a list with a plain name, and the name."""
    for node in nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "append":
            receiver = get_receiver(node)
            if isinstance(receiver, ast.Name):
                yield node, receiver.id


def suggest_field_of_data_set(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `TensorDataset(x, y, w)` and `for a, b, wb in loader` where a tensor with
    an entry for each sample of the data set meets those of a batch.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.node(op.span)
    if unmet is None or unmet.code not in OF_LENGTHS or place is None:
        return
    text = place[0]
    loop = text.around(place[1], ast.For)
    scope = text.around(place[1], *FUNCTIONS) or text.tree
    if not isinstance(loop, ast.For) or scope is None:
        return
    for expression, fact in zip(
        find_tensor_expressions(program, op), op.inputs, strict=False
    ):
        node = expression[0] if expression is not None else None
        if not isinstance(node, ast.Name) or not fact.shape or not _is_tuple(loop):
            continue
        data = _find_data_set(text, scope, loop)
        if data is None or not _has_rows(program, loop, fact):
            continue
        if _is_set_in(loop, node.id):
            continue
        yield _write_field(text, loop, data, node.id)
        return


def _is_tuple(loop: ast.For) -> bool:
    """Return whether a loop takes batches apart: `for x, y in loader`."""
    return isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Name)


def _is_set_in(loop: ast.For, name: str) -> bool:
    """Return whether a loop sets a name."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        for node in ast.walk(loop)
    )


def _find_data_set(text: SourceText, scope: ast.AST, loop: ast.For) -> ast.Call | None:
    """Return the `TensorDataset(...)` of the loader that a loop is over."""
    names = {*collect_names(loop.iter)}
    for _ in range(2):
        for node in ast.walk(scope):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if not names & {n for part in node.targets for n in collect_names(part)}:
                continue
            for call in ast.walk(node.value):
                if get_called_name(call) == "TensorDataset":
                    return call if isinstance(call, ast.Call) and call.args else None
            if get_called_name(node.value) == "DataLoader" and node.value.args:
                names |= {*collect_names(node.value.args[0])}
    return None


def _has_rows(program: Program, loop: ast.For, fact: Fact) -> bool:
    """Return whether a tensor has as many rows as a loop's loader has items."""
    story = [program.rehearsal.story] if program.rehearsal is not None else []
    while story:
        moment = story.pop()
        story += moment.inner
        if moment.line == loop.lineno and moment.kind == "batches":
            return moment.text.endswith(f" {fact.shape[0]:,} items")
    return False


def _write_field(text: SourceText, loop: ast.For, data: ast.Call, name: str) -> Fix:
    """Return the edits that hand a tensor out with the batches."""
    target = loop.target
    assert isinstance(target, ast.Tuple)
    own = [getattr(part, "id", "") for part in target.elts]
    used = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    ways = [f"batch_{name}", f"{name}_of_batch"]
    if all(part.endswith("b") for part in own):
        ways.insert(0, f"{name}b")
    new = next((way for way in ways if way not in used), ways[-1])
    edits = [Edit(text.span(data.args[-1]).end, f", {name}")]
    edits.append(Edit(text.span(target.elts[-1]).end, f", {new}"))
    edits += [
        Edit(text.span(node), new)
        for part in loop.body
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and node.id == name
    ]
    shown = text.written(data)[:-1]
    return Fix("fits", f"`{shown}, {name})`, and `{new}` of each batch", tuple(edits))


def suggest_local_numbers(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest to number the nodes of a subgraph anew, `(edges[..., None] ==
    nodes).int().argmax(-1)`, where its edges have the numbers of the whole graph.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    is_beyond = unmet is not None and unmet.code == INDEX_OUT_OF_RANGE
    is_beyond |= unmet is None and "out of bounds" in failure.torch_message
    if not is_beyond or len(op.inputs) < 2:
        return
    rows = op.inputs[0]
    picked = _find_picked(program, rows)
    if picked is None:
        return
    nodes = find_tensor_expressions(program, picked)[1:2]
    name = nodes[0][0] if nodes and nodes[0] is not None else None
    if not isinstance(name, ast.Name) or len(picked.inputs) != 2:
        return
    if picked.inputs[1].ndim != 1 or picked.inputs[1].dtype == "bool":
        return
    for index in op.inputs[1:]:
        kept = _find_kept(program, index)
        place = program.node(kept.span) if kept is not None else None
        statement = place[0].statement_of(place[1]) if place is not None else None
        if place is None or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Name) and statement.value is place[1]:
            new = f"({target.id}.unsqueeze(-1) == {name.id}).int().argmax(-1)"
            edit = write_after(place[0], statement, f"{target.id} = {new}")
            yield Fix("fits", f"`{target.id} = {new}` behind it", (edit,))
            return


def _find_picked(program: Program, rows: Fact) -> Op | None:
    """Return the call that picked the rows of a tensor, before layers of each row."""
    fact = rows
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs or fact.shape[:1] != rows.shape[:1]:
            return None
        if maker.name.rpartition(".")[2] in PICKS:
            return maker
        fact = maker.inputs[0]
    return None


def _find_kept(program: Program, fact: Fact) -> Op | None:
    """Return the call that kept some columns of a table of numbers, by a mask."""
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return None
        masks = [other for other in maker.inputs[1:] if other.dtype == "bool"]
        if masks and maker.name.rpartition(".")[2] in PICKS:
            return maker
        fact = maker.inputs[0]
    return None
