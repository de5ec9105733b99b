"""Edits for a graph that is made once, before the loop that frees it.

What no optimizer of the loop changes needs no graph there. What one does has to be
computed anew in each iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.history import Edge, History
from shapewright.analysis.autograd_errors.names import (
    find_kept_attribute,
    find_name,
    find_once_computed,
)
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import (
    cut_lines,
    wrap_in_no_grad,
    write_after,
    write_before,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import collect_names, get_called_name
from shapewright.record.ops import Op


def get_edge(cause: Cause) -> Edge | None:
    """Return the tensor of a cause with the calls on both sides."""
    if cause.fact is None or cause.maker is None or cause.user is None:
        return None
    return Edge(cause.fact, cause.maker, cause.user)


FOLLOWED = 4
"""Calls in the head of a loop, before the statement above it."""


def suggest_for_early_graph(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest computing without a graph what is computed once before the loop, or in
    each iteration.
    """
    yield from suggest_detached_attribute(history, cause)
    maker, text_and_statement = cause.maker, None
    for _ in range(FOLLOWED):
        if maker is None:
            return
        text_and_statement = find_once_computed(history, maker, cause.failing)
        if (
            text_and_statement is None
            or text_and_statement[1] is not text_and_statement[2]
        ):
            break
        maker = history.find_maker(maker.inputs[0], maker.index)
    if text_and_statement is None or text_and_statement[1] is text_and_statement[2]:
        return
    text, statement, loop = text_and_statement
    yield from _suggest_single_pass(history, cause)
    edge, first = get_edge(cause), cause.other
    trained = set[int]()
    if edge is not None and first is not None:
        stepped = collect_stepped(history, first, cause.failing)
        trained = stepped & collect_parameters(history, edge)
        if edge.fact.shape:  # a number would add nothing to the gradients
            trained -= _collect_read_again(history, first, cause.failing)
    if not trained and isinstance(statement, ast.Assign):
        yield from _suggest_without_graph(text, statement, cause)
    if statement.col_offset > loop.col_offset:
        return
    yield from _suggest_moved(history, text, statement, loop)


def _suggest_moved(
    history: History, text: SourceText, statement: ast.stmt, loop: ast.stmt
) -> Iterator[Fix]:
    """Suggest a statement inside the loop, with those that compute what it reads: the
    prediction beside its loss.
    """
    moved, reads = [statement], collect_names(statement, ast.Load)
    block: list[ast.stmt] = getattr(text.parent(statement), "body", [])
    graphs = {
        op.span.line
        for op in history.program.trace.ops
        if op.span is not None and any(fact.requires_grad for fact in op.outputs)
    }
    before = block[: block.index(statement)] if statement in block else []
    for earlier in reversed(before):
        lines = range(earlier.lineno, (earlier.end_lineno or earlier.lineno) + 1)
        if not isinstance(earlier, ast.Assign) or not graphs & {*lines}:
            break
        if collect_names(earlier, ast.Store) & reads:
            moved.insert(0, earlier)
            reads |= collect_names(earlier, ast.Load)
    written = [text.written(part) for part in moved]
    if any("\n" in line for line in written) or not isinstance(
        loop, ast.For | ast.While
    ):
        return
    indent = " " * loop.body[0].col_offset
    shown = " and ".join(f"`{join_lines(line)}`" for line in written)
    edits = [cut_lines(text, part) for part in moved]
    edits.append(write_before(text, loop.body[0], f"\n{indent}".join(written)))
    yield Fix("fits", f"{shown} inside the loop", tuple(edits))


def suggest_detached_attribute(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `self.mean = net.mean().detach()` where a constructor keeps the result
    of layers that no optimizer of the loop changes.
    """
    edge, first = get_edge(cause), cause.other
    if edge is None or first is None or not edge.fact.requires_grad:
        return
    name = find_name(history, edge).strip("`")
    stepped = collect_stepped(history, first, cause.failing)
    if stepped & collect_parameters(history, edge):
        return
    kept = find_kept_attribute(history, edge.maker, cause.failing)
    if kept is not None and isinstance(kept[1], ast.Assign):
        value = kept[1].value
        value = value.value if isinstance(value, ast.DictComp) else value
        value = value.elt if isinstance(value, ast.ListComp) else value
        if isinstance(value, ast.Call | ast.BinOp):
            yield append_method(kept[0], value, ".detach()")
            return
    if not name.startswith("self."):
        return
    for text in history.program.own_texts():
        for function in text.nodes:
            if not isinstance(function, ast.FunctionDef):
                continue
            if function.name != "__init__":
                continue
            for node in ast.walk(function):
                if not isinstance(node, ast.Assign) or text.around(node, ast.For):
                    continue
                is_kept = any(text.written(target) == name for target in node.targets)
                if is_kept and isinstance(node.value, ast.Call):
                    yield append_method(text, node.value, ".detach()")


def _suggest_single_pass(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest one backward pass behind a loop that has one for each of several losses,
    and no step between them.
    """
    text_and_call = history.program.call_at(cause.failing.span)
    if text_and_call is None:
        return
    text, call = text_and_call
    loop, statement = text.around(call, ast.For, ast.While), text.statement_of(call)
    if not isinstance(loop, ast.For) or not isinstance(statement, ast.Expr):
        return
    loss = call.func.value if isinstance(call.func, ast.Attribute) else None
    steps = [node for node in ast.walk(loop) if get_called_name(node) == "step"]
    set_in_loop = {
        text.written(target)
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    if not isinstance(loss, ast.Name) or steps or loss.id not in set_in_loop:
        return
    names = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    total = next(name for name in TOTALS if name not in names)
    edits = (
        write_before(text, loop, f"{total} = 0"),
        Edit(text.span(statement), f"{total} = {total} + {loss.id}"),
        write_after(text, loop, f"{total}.backward()"),
    )
    yield Fix("fits", f"`{total}.backward()` behind the loop, of the sum", edits)


TOTALS = ("total", "total_loss", "sum_of_losses")
"""Names for a sum of losses."""


def suggest_new_sum(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `loss = 0` before the loop that adds to a sum whose graph was freed."""
    first = cause.other.span if cause.other is not None else None
    user = cause.user.span if cause.user is not None else None
    text_and_statement = history.find_text(user)
    if text_and_statement is None or first is None:
        return
    text, statement = text_and_statement
    if not isinstance(statement, ast.AugAssign):
        return
    name = text.written(statement.target)
    outer: ast.stmt = statement
    around: ast.stmt | None = statement
    while around is not None:
        around = text.around(around, ast.For, ast.While)
        if around is not None and first.line < around.lineno:
            outer = around
    if outer is statement:
        new = f"{name} = {text.written(statement.value)}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(statement), new),))
        return
    new = f"{name} = 0"
    message = f"`{new}` before the loop"
    yield Fix("fits", message, (write_before(text, outer, new),))


def _suggest_without_graph(
    text: SourceText, statement: ast.Assign, cause: Cause
) -> Iterator[Fix]:
    """Suggest `with torch.no_grad():` around a statement, and `detach()` of its
    result.
    """
    edit = wrap_in_no_grad(text, statement)
    shown = join_lines(text.written(statement))
    if edit is not None:
        yield Fix("fits", f"`with torch.no_grad():` around `{shown}`", (edit,))
    if isinstance(statement.targets[0], ast.Name):
        yield append_method(text, statement.value, ".detach()")
        return
    stored = collect_names(statement, ast.Store)
    for name in cause.names:
        if name in stored:  # else it is made of what is stored
            new = f"{name} = {name}.detach()"
            yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))


def collect_stepped(history: History, first: Op, failing: Op) -> set[int]:
    """Return the storages that were written between two backward passes."""
    return {
        storage
        for storage, writes in history.writers.items()
        if any(first.index < write.index < failing.index for write in writes)
        and any(
            fact.is_leaf and fact.requires_grad for w in writes for fact in w.inputs
        )
    }


def _collect_read_again(history: History, first: Op, failing: Op) -> set[int]:
    """Return the storages of the leaves that a loss reads again after the backward pass
    that freed a graph: as an old policy, what was made before is no part of it.
    """
    graph = history.collect_graph(failing.inputs, failing.index)
    return {
        fact.storage
        for index, op in graph.items()
        for fact in op.inputs
        if index > first.index and fact.is_leaf and fact.requires_grad
    }


def collect_parameters(history: History, edge: Edge) -> set[int]:
    """Return the storages of the leaves that a tensor was computed from."""
    graph = history.collect_graph((edge.fact,), edge.maker.index + 1)
    return {
        fact.storage
        for op in graph.values()
        for fact in op.inputs
        if fact.is_leaf and fact.requires_grad
    }
