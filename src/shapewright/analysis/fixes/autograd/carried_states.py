"""Edits for a state that carries the graph of one iteration into the next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.history import (
    Edge,
    History,
    find_common_frames,
)
from shapewright.analysis.autograd_errors.names import (
    find_carrier,
    find_resetting,
)
from shapewright.analysis.autograd_errors.uncut_helpers import (
    find_uncut_helper,
    suggest_cutting_helper,
)
from shapewright.analysis.fixes.autograd.early_graphs import get_edge
from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)
from shapewright.record.ops import Fact


def _suggest_resetting(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest the program's own call that gives its states their first values,
    `reset_net(model)`, in each turn of the loop.
    """
    names = [name for name in cause.names if name.startswith("self.")]
    failing = history.find_text(cause.failing.span)
    if not names or failing is None:
        return
    text, statement = failing
    attribute = names[0].partition(".")[2]
    functions = find_resetting(text, attribute)
    resetting = {function.name for function in functions}
    loop = text.around(statement, ast.For)
    scope = text.around(statement, *FUNCTIONS) or text.tree
    if loop is None or scope is None:
        return
    known = {
        name.id if isinstance(name, ast.Name) else name.arg
        for name in ast.walk(scope)
        if isinstance(name, ast.Name | ast.arg)
    }
    for node in text.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or get_called_name(call) not in resetting:
            continue
        written = text.written(call)
        outer = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
        others = {function.name for _, function in text.functions()}
        if "self" in outer or not outer <= known | others:
            continue
        edit = write_before(text, loop.body[0], written)
        yield Fix("fits", f"`{join_lines(written)}` first in the loop", (edit,))
        return
    for function in functions[::-1]:  # which nothing calls
        taken = [argument.arg for argument in function.args.args]
        is_own = isinstance(text.parent(function), ast.Module)
        if is_own and len(taken) == 1 and taken[0] in known:
            written = f"{function.name}({taken[0]})"
            edit = write_before(text, loop.body[0], written)
            yield Fix("fits", f"`{written}` first in the loop", (edit,))
            return


def suggest_detaching_carried(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `state = state.detach()` between two iterations."""
    edge = get_edge(cause)
    helper = find_uncut_helper(history, cause.failing, cause.names)
    if helper is not None:
        yield from suggest_cutting_helper(helper)
    if _is_reset_before(history, cause):  # it is to last over the steps of the loop
        yield from _suggest_detaching(history, cause, edge)
        yield from _suggest_resetting(history, cause)
        return
    yield from _suggest_resetting(history, cause)
    yield from _suggest_detaching(history, cause, edge)


def _is_reset_before(history: History, cause: Cause) -> bool:
    """Return whether the function of a backward pass gives a state its first value
    above the loop around the pass.
    """
    names = [name for name in cause.names if name.startswith("self.")]
    failing = history.find_text(cause.failing.span)
    if not names or failing is None:
        return False
    text, statement = failing
    loop, function = text.around(statement, ast.For), text.around(statement, *FUNCTIONS)
    resets = {f.name for f in find_resetting(text, names[0].partition(".")[2])}
    return loop is not None and any(
        get_called_name(node) in resets and node.lineno < loop.lineno
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Call)
    )


def _suggest_detaching(
    history: History, cause: Cause, edge: Edge | None
) -> Iterator[Fix]:
    """Suggest `state = state.detach()` where a state is kept, made or used again."""
    if edge is not None and _is_of_each_step(history, cause, edge):
        return  # it would cut the graph between the steps of a batch as well
    if edge is not None:
        several = len({f.tensor for f in _collect_carried(edge)}) > 1
        yield from _suggest_kept_state(history, edge, several)
    carrier = find_carrier(history, edge, cause.failing) if edge is not None else None
    failing = history.find_text(cause.failing.span)
    if carrier is None or failing is None or edge is None:
        return
    text, (maker, user), names = carrier
    name = names[0]
    if isinstance(user, ast.AugAssign):  # a sum of losses over iterations
        yield from _suggest_own_loss(text, user, failing[1])
    for detached in _iter_detached(text, name, several):
        new = f"{name} = {detached}"
        same = is_same_function(text, user, failing[1]) and failing[0].file == text.file
        if same and not name.startswith("self."):
            yield Fix("fits", f"`{new}`", (write_after(text, failing[1], new),))
        if "." in name:  # of an object, which has none at first
            yield Fix("fits", f"`{new}`", (write_after(text, maker, new),))
        yield Fix("fits", f"`{new}`", (write_before(text, user, new),))


def _is_of_each_step(history: History, cause: Cause, edge: Edge) -> bool:
    """Return whether an attribute is computed several times for one backward pass,
    each time of the one before, and by a call that stands elsewhere than the pass.
    """
    freed = cause.other
    if freed is None or not any(name.startswith("self.") for name in cause.names):
        return False
    earlier = [op.index for op in history.passes if op.index < freed.index]
    start = max(earlier, default=-1)
    calls = history.program.trace.ops[start + 1 : freed.index]
    same = [
        op
        for op in calls
        if op.span == edge.maker.span
        and op.name == edge.maker.name
        and op.module == edge.maker.module
    ]
    graph = history.collect_graph(same[-1].inputs, same[-1].index) if same else {}
    return any(op.index in graph for op in same[:-1])


def _suggest_kept_state(history: History, edge: Edge, several: bool) -> Iterator[Fix]:
    """Suggest `self.state = state.detach()` where a function begins with what it kept
    as an attribute and keeps its last state again.
    """
    for _, maker_span, user_span in find_common_frames(edge.maker, edge.user):
        first, second = history.find_text(maker_span), history.find_text(user_span)
        if first is None or second is None:
            continue
        text, maker = first
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        function = text.around(maker, *kinds)
        if function is None or function is not second[0].around(second[1], *kinds):
            continue
        statements = [n for n in ast.walk(function) if isinstance(n, ast.Assign)]
        read = {
            get_dotted_name(part)
            for part in ast.walk(function)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load)
        }
        assigned = {
            get_dotted_name(part)
            for target in getattr(maker, "targets", ())
            for part in ast.walk(target)
        }
        for statement in statements:
            target = get_dotted_name(statement.targets[0])
            name = get_dotted_name(statement.value)
            if name in assigned and "." in target and target in read:
                for detached in list(_iter_detached(text, name, several))[:2]:
                    edit = Edit(text.span(statement.value), detached)
                    yield Fix("fits", f"`{target} = {detached}`", (edit,))


def _iter_detached(text: SourceText, name: str, several: bool) -> Iterator[str]:
    """Yield expressions for a state without its graph, the likeliest first: a tensor, a
    tuple, what else the program's text shows that it may be.
    """
    ways = [f"{name}.detach()", f"tuple(each.detach() for each in {name})"]
    written = text.text
    if re.search(r"named_?tuple", written, re.I):
        yield f"type({name})(*(each.detach() for each in {name}))"
    if re.search(rf"{re.escape(name)}\[['\"]", written):
        yield f"{{key: each.detach() for key, each in {name}.items()}}"
    yield from ways[::-1] if several else ways
    yield f"[tuple(each.detach() for each in layer) for layer in {name}]"


def _collect_carried(edge: Edge) -> list[Fact]:
    """Return the tensors that the later call reads of those the earlier one made."""
    outputs = {fact.tensor for fact in edge.maker.outputs}
    return [fact for fact in edge.user.inputs if fact.tensor in outputs]


def is_same_function(text: SourceText, statement: ast.stmt, other: ast.stmt) -> bool:
    """Return whether two statements stand in the same function, or in none."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return text.around(statement, *kinds) is text.around(other, *kinds)


def _suggest_own_loss(
    text: SourceText, user: ast.AugAssign, failing: ast.stmt
) -> Iterator[Fix]:
    """Suggest the backward pass of the loss of one iteration for that of a sum."""
    call = failing.value if isinstance(failing, ast.Expr) else None
    target, value = text.written(user.target), join_lines(text.written(user.value))
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if isinstance(user.value, ast.Name):
            edit = Edit(text.span(call.func.value), value)
            yield Fix("fits", f"`{value}.backward()`", (edit,))
        elif isinstance(user.op, ast.Add):
            new = f"{target} = {value}"
            yield Fix("fits", f"`{new}`", (Edit(text.span(user), new),))
