"""Edits for errors of autograd: detach what is carried, compute out of place, change
the order of two lines.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.history import Edge, History
from shapewright.analysis.autograd_errors.names import (
    iter_uses,
)
from shapewright.analysis.fixes.autograd.carried_states import (
    is_same_function,
    suggest_detaching_carried,
)
from shapewright.analysis.fixes.autograd.early_graphs import (
    collect_parameters,
    collect_stepped,
    get_edge,
    suggest_detached_attribute,
    suggest_for_early_graph,
    suggest_new_sum,
)
from shapewright.analysis.fixes.autograd.inplace_writes import (
    suggest_for_flag,
    suggest_for_leaf,
    suggest_without_flag,
)
from shapewright.analysis.fixes.autograd.kept_expressions import (
    find_kept_expression,
    suggest_use_of_parameter,
)
from shapewright.analysis.fixes.autograd.pass_order import (
    suggest_computed_again,
    suggest_earlier_pass,
    suggest_later_forward,
    suggest_made_again,
)
from shapewright.analysis.fixes.autograd.unconnected_parts import (
    suggest_fitting_gradient,
    suggest_no_grad,
    suggest_unused_parameters,
)
from shapewright.analysis.fixes.autograd.uncut_graphs import (
    suggest_requiring,
    suggest_training,
    suggest_uncut_graph,
)
from shapewright.analysis.fixes.common_mistakes import SIGNS
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import (
    cut_lines,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
)
from shapewright.record.ops import Op


def suggest_graph_edits(program: Program, cause: Cause) -> Iterator[Fix]:
    """Yield the edits for the cause of an error of autograd, the likeliest first."""
    history = History(program)
    ways = {
        "carried": suggest_detaching_carried,
        "before-loop": suggest_for_early_graph,
        "summed": suggest_new_sum,
        "same-loss": _suggest_single_pass,
        "two-losses": _suggest_for_two_losses,
        "written": _suggest_out_of_place,
        "view": _suggest_out_of_place,
        "step": _suggest_later_step,
        "cut": suggest_uncut_graph,
        "frozen": suggest_training,
        "leaf": suggest_for_leaf,
        "flag": suggest_for_flag,
        "not-required": suggest_requiring,
        "function": suggest_fitting_gradient,
        "unused": suggest_unused_parameters,
        "inference": suggest_no_grad,
    }
    if cause.kind in ("carried", "before-loop"):
        kept = find_kept_expression(history, cause)
        if kept is not None:  # without its graph, the parameter would not be trained
            yield from suggest_use_of_parameter(kept)
            return
    if cause.kind == "carried":
        yield from suggest_detached_attribute(history, cause)
    yield from ways[cause.kind](history, cause)


# -- a graph that was freed -----------------------------------------------------------


def _suggest_single_pass(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest a single backward pass for a loss."""
    first = history.find_text(cause.other.span if cause.other is not None else None)
    second = history.find_text(cause.failing.span)
    if first is None or second is None:
        return
    if first[1] is not second[1]:
        text, statement = second
        message = f"without `{join_lines(text.written(statement))}`"
        yield Fix("fits", message, (cut_lines(text, statement),))
        if not _is_stepped_between(text, first[1], statement):
            return  # each gradient would be added twice
    yield from _suggest_retaining(history, cause)


def _is_stepped_between(text: SourceText, first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether gradients are used or cleared between two statements."""
    lines = range(first.lineno, second.lineno)
    return any(
        isinstance(node, ast.Call)
        and get_called_name(node) in ("step", "zero_grad")
        and node.lineno in lines
        for node in text.nodes
    )


def _suggest_retaining(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `retain_graph=True` for the first of two passes."""
    other = cause.other
    text_and_call = history.program.call_at(other.span) if other is not None else None
    if text_and_call is not None and all(
        w.arg != "retain_graph" for w in text_and_call[1].keywords
    ):
        yield with_keyword(*text_and_call, "retain_graph=True")


def _suggest_for_two_losses(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest to detach what two losses share from the one that does not train it, or a
    single pass for both.
    """
    edge, first = get_edge(cause), cause.other
    if edge is None or first is None:
        return
    stepped = collect_stepped(history, first, cause.failing)
    below = collect_parameters(history, edge)
    if stepped & below:
        yield from suggest_computed_again(history, cause)
    earlier = history.collect_graph(first.inputs, first.index)
    later = history.collect_graph(cause.failing.inputs, cause.failing.index)
    early, late = dict(earlier), {k: v for k, v in later.items() if k not in earlier}
    early = {k: op for k, op in early.items() if op.index > edge.maker.index}
    if stepped and below and not stepped & below:
        ways = [early, late]
    elif stepped & below:
        ways = [late, early]
    else:
        # Without a step in between both losses train: to detach would untrain one.
        ways = _find_critic_losses(below, early, late)
        if not ways:
            yield from _suggest_sum(history, cause)
            if not stepped:
                yield from _suggest_retaining(history, cause)
    for users in ways:
        seen = set()
        others = late if users is early else early
        for text, node in _iter_own_uses(history, edge, users, others):
            if id(node) not in seen:
                seen.add(id(node))
                yield append_method(text, node, ".detach()")


def _iter_own_uses(
    history: History, edge: Edge, users: dict[int, Op], others: dict[int, Op]
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield where some calls use a tensor and others do not: `critic(fake)` in place of
    the `image` in its `forward`, where both losses come through.
    """
    both = {frame.span for op in others.values() for frame in op.frames}
    for text, node, span in iter_uses(history, edge, users):
        if span not in both:
            yield text, node
            continue
        for op in users.values():
            frames = op.frames[::-1] if op.span == span else ()
            outer = next((frame for frame in frames if frame.span not in both), None)
            place = history.program.call_at(outer.span) if outer is not None else None
            arguments = place[1].args if place is not None else []
            if place is None or len(arguments) != 1:
                continue
            if isinstance(arguments[0], ast.Name | ast.Attribute):
                yield place[0], arguments[0]


def _find_critic_losses(
    below: set[int], early: dict[int, Op], late: dict[int, Op]
) -> list[dict[int, Op]]:
    """Return the graph of the loss that trains a discriminator, if one of two does.

    Both losses read the same layers above what they share, and the discriminator's loss
    reads them once more, for the real samples.
    """
    counts = []
    for graph in (early, late):
        leaves = [
            fact.storage
            for op in graph.values()
            for fact in op.inputs
            if fact.is_leaf and fact.requires_grad and fact.storage not in below
        ]
        counts.append(Counter(leaves))
    shared = counts[0].keys() & counts[1].keys()
    uses = [sum(count[storage] for storage in shared) for count in counts]
    if not shared or uses[0] == uses[1]:
        return []
    return [early] if uses[0] > uses[1] else [late]


def _suggest_sum(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `(one + other).backward()` for two passes."""
    first = history.find_text(cause.other.span if cause.other is not None else None)
    second = history.find_text(cause.failing.span)
    if first is None or second is None or first[0].file != second[0].file:
        return
    text = first[0]
    names = [_get_loss(text_and_statement[1]) for text_and_statement in (first, second)]
    if None in names or not is_same_function(text, first[1], second[1]):
        return
    if not set(_iter_blocks(text, second[1])) <= set(_iter_blocks(text, first[1])):
        return  # a pass that a branch leaves out would take the other with it
    first_loss, second_loss = (text.written(name) for name in names if name is not None)
    new = f"({first_loss} + {second_loss}).backward()"
    edits = (cut_lines(text, first[1]), Edit(text.span(second[1]), new))
    yield Fix("fits", f"`{new}`, once", edits)


def _iter_blocks(text: SourceText, statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the branches and loops around a statement."""
    for node in text.outwards(statement):
        if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.Match):
            yield node


def _get_loss(statement: ast.stmt) -> ast.expr | None:
    """Return `loss` of the statement `loss.backward()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.value if call.func.attr == "backward" else None
    return None


# -- a tensor that was written --------------------------------------------------------


def _suggest_out_of_place(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest the form of a write that gives a new tensor."""
    program, write = history.program, cause.other
    text_and_node = program.node(write.span) if write is not None else None
    if text_and_node is None or write is None:
        return
    text, node = text_and_node
    statement = text.statement_of(node)
    yield from suggest_without_flag(program, write, text, node)
    if isinstance(statement, ast.AugAssign):
        sign = SIGNS.get(type(statement.op))
        if sign is not None:
            target, value = map(text.written, (statement.target, statement.value))
            if isinstance(statement.value, ast.BinOp | ast.IfExp):
                value = f"({value})"
            new = f"{target} = {target} {sign} {value}"
            shown = join_lines(new)
            yield Fix("fits", f"`{shown}`", (Edit(text.span(statement), new),))
        if isinstance(statement.target, ast.Subscript):
            yield from _suggest_clone(text, statement, statement.target)
    if isinstance(statement, ast.Assign):
        for written in statement.targets:
            if isinstance(written, ast.Subscript):
                yield from _suggest_clone(text, statement, written)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name.endswith("_") and not name.endswith("__"):
            yield from _suggest_plain_method(text, node, statement, name)
    edge = get_edge(cause)
    if edge is not None and edge.user is not edge.maker:
        for where, use, _ in iter_uses(history, edge, {0: edge.user}):
            yield append_method(where, use, ".clone()")


def _suggest_plain_method(
    text: SourceText, node: ast.Call, statement: ast.stmt, name: str
) -> Iterator[Fix]:
    """Suggest `x = x.clamp(0)` for `x.clamp_(0)`."""
    func = node.func
    assert isinstance(func, ast.Attribute)
    span = text.span(func)
    end = Span(
        span.file, span.end_line, span.end_column - 1, span.end_line, span.end_column
    )
    edits = [Edit(end, "")]
    shown = text.written(node).replace(name, name[:-1], 1)
    target = func.value if get_called_name(node) == name else None
    alone = isinstance(statement, ast.Expr) and statement.value is node
    if alone and target is not None and get_dotted_name(target):
        owner = text.written(target)
        if owner in ("F", "torch", "nn.functional", "torch.nn.functional"):
            owner = text.written(node.args[0]) if node.args else ""
        if not owner:
            return
        edits.append(Edit(text.span(statement).start, f"{owner} = "))
        shown = f"{owner} = {shown}"
    yield Fix("fits", f"`{join_lines(shown)}`", tuple(edits))


def _suggest_clone(
    text: SourceText, statement: ast.stmt, target: ast.Subscript
) -> Iterator[Fix]:
    """Suggest a copy of a tensor before a part of it is written."""
    owner: ast.expr = target
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    name = get_dotted_name(owner)
    if name:
        new = f"{name} = {name}.clone()"
        message = f"`{new}` before `{join_lines(text.written(statement))}`"
        yield Fix("fits", message, (write_before(text, statement, new),))
        yield from _suggest_written_copy(text, statement, target, name)


def _suggest_written_copy(
    text: SourceText, statement: ast.stmt, target: ast.Subscript, name: str
) -> Iterator[Fix]:
    """Suggest to write a copy, where the statement reads what it writes."""
    if not isinstance(statement, ast.Assign):
        return
    read = {get_dotted_name(node) for node in ast.walk(statement.value)}
    words = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    copy = f"new_{name.rpartition('.')[2]}"
    if name not in read or copy in words or len(statement.targets) > 1:
        return
    written = copy + text.written(target).removeprefix(name)
    new = f"{copy} = {name}.clone()"
    message = f"`{new}`, written in its place"
    edits = (
        write_before(text, statement, new),
        Edit(text.span(target), written),
        write_after(text, statement, f"{name} = {copy}"),
    )
    yield Fix("fits", message, edits)


def _suggest_later_step(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest to step an optimizer below the backward pass that needs its weights, or
    to detach what those weights made, if other weights follow it in the graph.
    """
    moved = list(suggest_later_forward(history, cause))
    yield from moved
    if moved:
        return  # what is detached would train no weights of this part
    yield from _suggest_detaching_boundary(history, cause)
    again = list(suggest_made_again(history, cause))
    yield from again
    if again:
        return
    earlier = list(suggest_earlier_pass(history, cause))
    yield from earlier
    if earlier:  # a later step would follow gradients of the other loss, too
        return
    step = history.find_text(cause.other.span if cause.other is not None else None)
    failing = history.find_text(cause.failing.span)
    if step is None or failing is None or step[0].file != failing[0].file:
        return
    text, statement = step
    if not is_same_function(text, statement, failing[1]):
        return
    written = text.written(statement)
    message = f"`{join_lines(written)}` after"
    message += f" `{join_lines(text.written(failing[1]))}`"
    if statement.lineno < failing[1].lineno and "\n" not in written:
        edits = (cut_lines(text, statement), write_after(text, failing[1], written))
        yield Fix("fits", message, edits)


def _suggest_detaching_boundary(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `discriminator(fake.detach())` where a step changed what made `fake`."""
    step = cause.other
    if step is None:
        return
    graph = history.collect_graph(cause.failing.inputs, cause.failing.index)
    written = {
        storage
        for storage, writes in history.writers.items()
        if any(write.span == step.span for write in writes)
    }
    users = {
        index
        for index, op in graph.items()
        if any(fact.storage in written and fact.is_leaf for fact in op.inputs)
    }
    others = {
        index
        for index, op in graph.items()
        if any(
            fact.storage not in written and fact.is_leaf and fact.requires_grad
            for fact in op.inputs
        )
    }
    if not users or not others or max(others) < max(users):
        return
    start = next(
        (
            index
            for index in sorted(others)
            if any(
                history.collect_graph((fact,), index).keys() & users
                for fact in graph[index].inputs
                if fact.requires_grad and not fact.is_leaf
            )
            and index not in users
        ),
        None,
    )
    if start is None:
        return
    behind = {start: graph[start]}
    before = {index: graph[index] for index in graph if index < start}
    for edge in history.iter_edges(behind, before):
        seen = set()
        for text, node, _ in iter_uses(history, edge, {edge.user.index: edge.user}):
            if id(node) not in seen:
                seen.add(id(node))
                yield append_method(text, node, ".detach()")
