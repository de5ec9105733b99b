"""Find the statements of a loop that keep a result with its graph, by the text.

The run has seen that activations pile up; which name holds their graph is only in the
text: `total += loss`, `outputs.append(model(x))`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.context import RehearsalContext
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_last_name,
    get_own_attribute,
)
from shapewright.record.report import Place

STORING = ("append", "appendleft", "extend", "add", "insert", "update", "setdefault")
"""Methods that keep what they are given."""

MOST_STEPS = 2
"""Assignments between a sum and the loss that a backward pass begins with."""

VALUES = operators_with("leaves_graph") | operators_with("returns_python_value")
VALUES |= {"float", "int", "len"}
"""Calls that return values without a graph."""


def find_keepers(
    program: Program, loop: Place
) -> Iterator[tuple[str, SourceText, ast.stmt]]:
    """Yield what a loop keeps of tensors with a graph: as it is written, and where.

    Example: `loss` of ``total += loss``, where a call that makes `loss` in the loop has
    a result that requires gradients.
    """
    text = program.text(loop[0])
    if text is None:
        return
    lines = list_graph_lines(program, loop[0])
    for node in text.near(loop[1]):
        if not isinstance(node, LOOPS) or node.lineno != loop[1]:
            continue
        names = list_graph_names(node, lines)
        for statement in ast.walk(node):
            if not isinstance(statement, ast.stmt):
                continue
            for name in sorted(names):
                if is_kept(statement, name):
                    yield name, text, statement
                    break
            else:
                call = _find_stored_call(statement) or _find_added_call(statement)
                is_kept_call = call is not None and statement.lineno in lines
                if call and is_kept_call and not _is_of_values(text, call):
                    yield text.written(call), text, statement


def find_called_keepers(
    scene: RehearsalContext, loop: Place
) -> Iterator[tuple[str, SourceText, ast.stmt]]:
    """Yield what functions of the program that a loop calls append to lists: results
    with a graph, or, if there is a single such statement, what they are given.
    """
    text = scene.program.text(loop[0])
    loops = [node for node in (text.near(loop[1]) if text is not None else ())
             if isinstance(node, LOOPS)]  # fmt: skip
    if text is None or not loops:
        return
    lines = list_graph_lines(scene.program, loop[0])
    passed: list[tuple[str, SourceText, ast.stmt]] = []
    for function in _list_called(text, loops[0]):
        names = list_graph_names(function, lines)
        parameters = {arg.arg for arg in ast.walk(function) if isinstance(arg, ast.arg)}
        parameters |= {
            name
            for part in ast.walk(function)
            if isinstance(part, ast.For) and collect_names(part.iter) & parameters
            for name in collect_names(part.target, ast.Store)
        }
        for statement in ast.walk(function):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(statement, ast.stmt) or not isinstance(call, ast.Call):
                continue
            if not is_storing(call) or not call.args:
                continue
            stored = call.args[-1]
            word = stored.id if isinstance(stored, ast.Name) else ""
            if word in names:
                yield word, text, statement
            elif word in parameters:
                passed.append((word, text, statement))
            elif (
                isinstance(stored, ast.Call)
                and stored.lineno in lines
                and has_graph(stored)
            ):
                yield text.written(stored), text, statement
    if len(passed) == 1:
        yield passed[0]


def _list_called(text: SourceText, node: ast.AST) -> list[ast.FunctionDef]:
    """Return the functions of a text that a node calls, and those that they call."""
    functions: list[ast.FunctionDef] = []
    waiting = [node]
    while waiting:
        part = waiting.pop(0)
        for call in ast.walk(part):
            if not isinstance(call, ast.Call):
                continue
            named = text.functions(get_called_name(call))
            function = named[0][1] if len(named) == 1 else None
            if isinstance(function, ast.FunctionDef) and function not in functions:
                functions.append(function)
                waiting.append(function)
    return functions


def find_hook_keepers(
    scene: RehearsalContext,
) -> Iterator[tuple[str, SourceText, ast.stmt]]:
    """Yield what hooks of a `forward` append to a list that nothing empties, though the
    result has a graph in several training steps.
    """
    for text in scene.program.own_texts():
        for function in _list_hooks(text):
            for statement in ast.walk(function):
                call = statement.value if isinstance(statement, ast.Expr) else None
                if not isinstance(statement, ast.Expr):
                    continue
                if not isinstance(call, ast.Call) or get_called_name(call) != "append":
                    continue
                if (
                    _count_steps(scene, text.span(statement)) >= LEAST_STEPS
                    and not (isinstance(call.args[0], ast.Call)
                             and not has_graph(call.args[0]))
                    and not _is_emptied(text, call)
                    and not is_differentiated(text, statement)
                ):  # fmt: skip
                    yield text.written(call.args[0]), text, statement


LEAST_STEPS = 3
"""Backward passes between which a hook has kept a graph, before it is reported."""


def _count_steps(scene: RehearsalContext, place: Span) -> int:
    """Return before how many backward passes a line made tensors with a graph."""
    steps, is_made = 0, False
    for op in scene.program.trace.ops:
        if op.name.rpartition(".")[2] == "backward":
            steps += is_made
            is_made = False
        elif op.span is not None and op.span.line == place.line:
            same = op.span.file == place.file
            is_made |= same and any(fact.requires_grad for fact in op.outputs)
    return steps


def _is_emptied(text: SourceText, append: ast.Call) -> bool:
    """Return whether a text clears the list of an `append`, or sets it anew in another
    function than where it begins.
    """
    holder = get_receiver(append)
    name = get_last_name(holder) if holder is not None else ""
    settings = 0
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) in ("clear", "pop"):
            owner = get_receiver(node)
            if owner is not None and get_last_name(owner) == name:
                return True
        elif isinstance(node, ast.Assign):
            settings += any(get_last_name(target) == name for target in node.targets)
        elif isinstance(node, ast.Delete) and name in text.written(node):
            return True
    return settings != 1 or not name


def _list_hooks(text: SourceText) -> list[ast.FunctionDef]:
    """Return the functions that a text registers as hooks of a `forward`."""
    named = [
        text.functions(get_last_name(node.args[0]))
        for node in text.nodes
        if isinstance(node, ast.Call) and node.args
        if get_called_name(node) == "register_forward_hook"
    ]
    functions = [same[0][1] for same in named if len(same) == 1]
    return [part for part in functions if isinstance(part, ast.FunctionDef)]


def list_graph_lines(program: Program, file: str) -> set[int]:
    """Return the lines of a file at which calls have results that require gradients."""
    return {
        frame.span.line
        for op in program.trace.ops
        if any(fact.requires_grad for fact in op.outputs)
        for frame in op.frames
        if frame.span.file == file
    }


def list_graph_names(loop: ast.AST, lines: set[int]) -> set[str]:
    """Return the names that a loop gives to tensors with a graph."""
    return {
        name
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign) and node.lineno in lines
        for target in node.targets
        for name in collect_names(target, ast.Store)
    }


def _find_stored_call(node: ast.stmt) -> ast.Call | None:
    """Return the call whose result is stored as it is: that in `kept.append(f(x))`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not is_storing(call) or not call.args:
        return None
    stored = call.args[-1]
    return stored if isinstance(stored, ast.Call) and has_graph(stored) else None


def _find_added_call(node: ast.stmt) -> ast.Call | None:
    """Return the call whose result is added to a sum: that in ``s = s + f(x) / 3``."""
    if isinstance(node, ast.AugAssign):
        name, value = ast.unparse(node.target), node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        name, value = ast.unparse(node.targets[0]), node.value
        if name not in (ast.unparse(value.left), ast.unparse(value.right)):
            return None
    else:
        return None
    waiting: list[ast.expr] = [value]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, ast.Call):
            return part if has_graph(part) else None
        if isinstance(part, ast.BinOp):
            waiting += [side for side in (part.left, part.right)
                        if ast.unparse(side) != name]  # fmt: skip
    return None


def has_graph(call: ast.Call) -> bool:
    """Return whether a call may return a tensor with its graph, by its name."""
    return get_called_name(call) not in VALUES


def _is_of_values(text: SourceText, call: ast.Call) -> bool:
    """Return whether a function of the program returns values alone, none of which has
    a graph: `return {"hits": hits.item(), "count": len(y)}`.
    """
    functions = text.functions(get_called_name(call))
    returned = [
        node.value
        for _, function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    return bool(returned) and all(map(_is_value, returned))


def _is_value(node: ast.expr) -> bool:
    """Return whether an expression is made of values without a graph."""
    if isinstance(node, ast.Dict):
        return all(map(_is_value, node.values))
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(_is_value, node.elts))
    if isinstance(node, ast.BinOp):
        return _is_value(node.left) and _is_value(node.right)
    is_plain_call = isinstance(node, ast.Call) and not has_graph(node)
    return is_plain_call or isinstance(node, ast.Constant)


def is_differentiated(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether a backward pass begins with what a statement adds to: the graph
    of `loss` in ``loss = loss + f(x)`` is needed if ``loss.backward()`` comes.
    """
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        holder: ast.AST = func.value if isinstance(func, ast.Attribute) else func
    elif isinstance(statement, ast.Assign):
        holder = statement.targets[0]
    else:
        holder = getattr(statement, "target", statement)
    names: set[str] = set()
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "backward":
            names |= _collect_words(node)
    for _ in range(MOST_STEPS):
        for node in text.nodes:
            if isinstance(node, ast.Assign) and names & {
                name for target in node.targets for name in _collect_words(target)
            }:
                names |= _collect_words(node.value)
    return bool(names & _collect_words(holder))


def _collect_words(node: ast.AST) -> set[str]:
    """Return the names in a tree; an attribute of `self` stands with its name."""
    own = {f"self.{get_own_attribute(part)}" for part in ast.walk(node)} - {"self."}
    return (collect_names(node) | own) - {"self"}


def is_kept(node: ast.stmt, name: str) -> bool:
    """Return whether a statement keeps a tensor itself, and not only its value, beyond
    the iteration.
    """
    if isinstance(node, ast.AugAssign):
        return is_bare(node.value, name)
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript | ast.Attribute):
            return is_bare(node.value, name)
        same = isinstance(target, ast.Name) and isinstance(node.value, ast.BinOp)
        names = collect_names(node.value)
        return same and target.id in names - {name} and is_bare(node.value, name)  # type: ignore[attr-defined]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        arguments = node.value.args if is_storing(node.value) else []
        return any(is_bare(argument, name) for argument in arguments)
    return False


def is_storing(call: ast.Call) -> bool:
    """Return whether a call keeps its arguments, as `append` does."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in STORING


def is_bare(value: ast.expr, name: str) -> bool:
    """Return whether a name occurs in an expression without being converted to its
    value.
    """
    if isinstance(value, ast.Name) or get_own_attribute(value):
        return ast.unparse(value) == name
    if isinstance(value, ast.Call):
        return False
    return any(
        is_bare(child, name)
        for child in ast.iter_child_nodes(value)
        if isinstance(child, ast.expr)
    )
