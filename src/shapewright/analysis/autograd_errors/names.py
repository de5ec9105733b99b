"""The program's own names for the tensors of an autograd graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors.history import (
    Edge,
    History,
    find_common_frames,
)
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    find_tensor_names,
)
from shapewright.findings.finding import Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op


def get_name_of_loss(program: Program, op: Op) -> str:
    """Return the expression whose backward pass a call runs."""
    names = find_tensor_names(program, op)
    return names[0] if names and names[0].startswith("`") else "the loss"


def find_name(history: History, edge: Edge | None, op: Op | None = None) -> str:
    """Return the program's expression for a tensor, or its shape."""
    program = history.program
    user = edge.user if edge is not None else op
    assert user is not None
    fact = edge.fact if edge is not None else user.inputs[0]
    names = find_tensor_names(program, user)
    for operand, name in zip(user.inputs, names, strict=False):
        if operand.tensor == fact.tensor and name.startswith("`"):
            return name
    assigned = list(iter_assigned_names(history, edge.maker)) if edge else []
    if assigned:
        return f"`{assigned[0]}`"
    return f"a tensor {format_shape(fact)}"


def find_name_of(history: History, fact: Fact, user: Op) -> str:
    """Return the program's expression for a tensor that a call was given."""
    names = find_tensor_names(history.program, user)
    for operand, name in zip(user.inputs, names, strict=False):
        if operand.tensor == fact.tensor and name.startswith("`"):
            return name
    return f"a tensor {format_shape(fact)}"


def get_wanted_name(program: Program, failing: Op) -> str:
    """Return `x` of `torch.autograd.grad(u, x)`, or an empty string."""
    place = program.call_at(failing.span)
    wanted = place[1].args[1:2] if place is not None else []
    if place is None or not wanted or not isinstance(wanted[0], ast.Name):
        return ""
    return f"`{wanted[0].id}`"


def iter_assigned_names(history: History, op: Op) -> Iterator[str]:
    """Yield the names that the statement of a call assigns, if it is an assignment."""
    text_and_statement = history.find_text(op.span)
    if text_and_statement is not None:
        yield from _iter_targets(text_and_statement[1])


def _iter_targets(statement: ast.stmt) -> Iterator[str]:
    """Yield the dotted names that a statement assigns."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    while targets:
        target = targets.pop(0)
        if isinstance(target, ast.Tuple | ast.List):
            targets = [*target.elts, *targets]
        elif get_dotted_name(target):
            yield get_dotted_name(target)


def find_carried_names(history: History, edge: Edge, failing: Op) -> tuple[str, ...]:
    """Return the names that bring a tensor from the call that made it to a later one.

    They are assigned by the statement of the first and read by that of the second, in
    one function that both were called from.
    """
    carried = find_carrier(history, edge, failing)
    return carried[2] if carried is not None else ()


def find_carrier(
    history: History, edge: Edge, failing: Op
) -> tuple[SourceText, tuple[ast.stmt, ast.stmt], tuple[str, ...]] | None:
    """Return the two statements between which a tensor is carried by names.

    A local name carries nothing from one call of its function to the next; `failing`
    tells which functions run all the while.
    """
    running = {(frame.function, frame.span.file) for frame in failing.frames}
    for function, maker_span, user_span in find_common_frames(edge.maker, edge.user):
        first, second = history.find_text(maker_span), history.find_text(user_span)
        if first is None or second is None:
            continue
        text, maker = first
        names = [n for n in _iter_targets(maker) if n not in ("_",)]
        names = list(_with_aliases(text, maker, names))
        if (function, maker_span.file) not in running:
            names = [name for name in names if "." in name]
        read = {
            get_dotted_name(node)
            for node in ast.walk(second[1])
            if isinstance(node, ast.Name | ast.Attribute)
            and (isinstance(node.ctx, ast.Load) or isinstance(second[1], ast.AugAssign))
        }
        common = tuple(name for name in names if name in read)
        if common:
            return text, (maker, second[1]), common
    return None


def _with_aliases(
    text: SourceText, statement: ast.stmt, names: list[str]
) -> Iterator[str]:
    """Yield names and the names that are assigned from them in the same function."""
    yield from names
    scope = text.around(statement, ast.FunctionDef, ast.Module)
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign):
            values = node.value
            parts = values.elts if isinstance(values, ast.Tuple) else [values]
            if any(get_dotted_name(part) in names for part in parts):
                yield from (n for n in _iter_targets(node) if n not in names)


def is_before_loop(history: History, maker: Op, user: Op) -> bool:
    """Return whether a call ran once, above the loop in which another one repeats."""
    return find_once_computed(history, maker, user) is not None


def find_once_computed(
    history: History, maker: Op, user: Op
) -> tuple[SourceText, ast.stmt, ast.For | ast.While] | None:
    """Return the statement above a loop in which a call ran, and the loop in which
    another one repeats, with their text.

    The statement is the loop itself if the call is in its head: `for x in y.split(4)`.
    """
    for _, maker_span, user_span in find_common_frames(maker, user):
        first, second = history.find_text(maker_span), history.find_text(user_span)
        if first is None or second is None:
            continue
        text = first[0]
        loops = [
            node
            for node in text.outwards(second[1])
            if isinstance(node, ast.For | ast.While)
            and (first[1] is node or not _is_inside(text, first[1], node))
        ]
        if loops:
            return text, first[1], loops[0]
    return None


def find_kept_attribute(
    history: History, maker: Op, user: Op
) -> tuple[SourceText, ast.stmt, str] | None:
    """Return the statement of a constructor that kept what a call made, and the name of
    the attribute, where the constructor does not run when another call does.
    """
    running = {(frame.function, frame.span.file) for frame in user.frames}
    for frame in reversed(maker.frames):
        is_running = (frame.function, frame.span.file) in running
        if is_running or frame.function.rpartition(".")[2] != "__init__":
            continue
        where = history.find_text(frame.span)
        names = list(_iter_targets(where[1])) if where is not None else []
        if where is not None and len(names) == 1 and names[0].startswith("self."):
            return *where, names[0]
    return None


def _is_inside(text: SourceText, node: ast.AST, outer: ast.AST) -> bool:
    """Return whether a node stands within another one."""
    return node is outer or any(parent is outer for parent in text.outwards(node))


def _find_handed_name(
    history: History, edge: Edge, op: Op
) -> tuple[SourceText, ast.expr, Span] | None:
    """Return the argument by which a tensor is handed on, under the name that the
    statement of its maker gives it, in the outermost function that knows it.
    """
    for _, maker_span, user_span in reversed(list(find_common_frames(edge.maker, op))):
        first = history.find_text(maker_span)
        text_and_node = history.program.node(user_span)
        if (
            first is None
            or text_and_node is None
            or not isinstance(text_and_node[1], ast.Call)
        ):
            continue
        names = list(_with_aliases(first[0], first[1], list(_iter_targets(first[1]))))
        for argument in text_and_node[1].args:
            if get_dotted_name(argument) in names:
                return text_and_node[0], argument, user_span
    return None


def iter_uses(
    history: History, edge: Edge, users: dict[int, Op]
) -> Iterator[tuple[SourceText, ast.expr, Span]]:
    """Yield the expressions by which calls of a graph were given a tensor."""
    program = history.program
    for op in users.values():
        if all(fact.tensor != edge.fact.tensor for fact in op.inputs):
            continue
        named = _find_handed_name(history, edge, op)
        if named is not None:
            yield named
            continue
        text_and_node = program.node(op.span)
        if text_and_node is None or op.span is None:
            continue
        places = find_tensor_expressions(program, op)
        for fact, place in zip(op.inputs, places, strict=False):
            if fact.tensor == edge.fact.tensor and place is not None:
                yield text_and_node[0], place[0], op.span


def find_resetting(text: SourceText, attribute: str) -> list[ast.FunctionDef]:
    """Return the functions that give a state its first value: those of such a name
    that assign the attribute, and those that call them.
    """
    functions = [
        function
        for function in text.nodes
        if isinstance(function, ast.FunctionDef) and "reset" in function.name.lower()
    ]
    setting = [
        function
        for function in functions
        if any(
            isinstance(target, ast.Attribute) and target.attr == attribute
            for target, _ in iter_assignments(function)
        )
    ]
    names = {function.name for function in setting}
    return setting + [
        function
        for function in functions
        if function not in setting
        and any(get_called_name(node) in names for node in ast.walk(function))
    ]


def find_uncalled_reset(
    history: History, failing: Op, names: tuple[str, ...]
) -> Related | None:
    """Return the function that gives a carried state its first value, where the loop
    around a backward pass does not call it.
    """
    where = history.find_text(failing.span)
    if where is None or not names or not names[0].startswith("self."):
        return None
    text, statement = where
    loop = text.around(statement, ast.For, ast.While)
    functions = find_resetting(text, names[0].partition(".")[2])
    called = {get_called_name(node) for node in ast.walk(loop)} if loop else set()
    if loop is None or not functions or called & {f.name for f in functions}:
        return None
    function = functions[-1]
    words = f"`{function.name}` sets it anew, and this loop does not call it"
    return Related(text.span(function), words)


def list_quoted(name: str) -> tuple[str, ...]:
    """Return the expression in backquotes, if a name is one."""
    return (name.strip("`"),) if name.startswith("`") else ()


def name_where_made(history: History, fact: Fact, op: Op) -> str:
    """Return the program's name for a tensor in a call, or where it was made."""
    name = find_name_of(history, fact, op)
    maker = history.find_maker(fact, op.index)
    if name.startswith("`") or maker is None:
        return name
    assigned = next(iter_assigned_names(history, maker), "")
    return f"`{assigned}`" if assigned else name
