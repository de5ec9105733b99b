"""Functions of the program that end without `return`, behind an error about None:
`x = jitter(x)` of a `jitter` whose last statement is `x = x + noise`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import NO_GRADIENT_KEPT
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import Function, SourceText, find_defining
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    iter_own_nodes,
)

OF_NONE = re.compile(r"NoneType")
PROCEDURES = frozenset({"__init__", "__setitem__", "__delitem__", "__exit__"})
"""Methods whose None is what Python expects."""
CALLED_BY_OTHERS = frozenset({"forward", "__getitem__", "__call__", "collate_fn"})
"""Methods that torch or Python call for a value."""
CHANGES = frozenset({
    "append", "extend", "update", "add", "insert", "setdefault", "sort", "reverse",
})  # fmt: skip
"""Methods that change their object and return nothing of it."""
SILENT = frozenset({
    "print", "backward", "step", "zero_grad", "save", "write", "close", "log", "show",
    "train", "eval", "load_state_dict", "seed", "manual_seed", "info", "debug",
})  # fmt: skip
"""Calls whose value nobody returns."""
CALLERS_FOR_NOTHING = ("register", "apply", "Thread", "Process", "spawn")
"""Beginnings of the names of what calls a function and drops its value."""
DEEP = 4


def find_missing_return(program: Program, finding: Finding) -> Explanation | None:
    """Return which function of the program ends without `return`, or None."""
    place = program.node(finding.span)
    if place is None or not OF_NONE.search(finding.words):
        return None
    if finding.code == NO_GRADIENT_KEPT:
        return None
    candidates = [
        (own, function, value)
        for own in program.own_texts()
        for _, function in own.functions()
        if (value := _find_result(own, function)) is not None
        and _is_value_used(program, own, function)
    ]
    called = _collect_called(*place)
    near = [entry for entry in candidates if _get_name(*entry[:2]) in called]
    if len(near) != 1 and len(candidates) == 1:
        near = [entry for entry in candidates if _is_for_nothing(entry[1])]
    candidates = near if len(near) == 1 else []
    if not candidates:
        return None
    text, function, (statement, shown) = candidates[0]
    name = function.name
    message = f"`{name}` returns None: its last statement is not a `return`"
    head = text.lines[function.lineno - 1].strip().removesuffix(":")
    related = (Related(text.span(statement), f"`{head}` ends here"),)
    message_of_fix = f"`return {shown}` at the end of `{name}`"
    if isinstance(statement, ast.Expr) and shown == text.line_of(statement):
        edit = Edit(text.span(statement).start, "return ")
    else:
        edit = write_after(text, function.body[-1], f"return {shown}")
    return Explanation(message, related, (Fix("fits", message_of_fix, (edit,)),))


def _get_name(text: SourceText, function: Function) -> str:
    """Return the name by which a function is called: that of its class for
    `forward`.
    """
    owner = text.parent(function)
    is_special = function.name in CALLED_BY_OTHERS
    return (
        owner.name if is_special and isinstance(owner, ast.ClassDef) else function.name
    )


# -- what a function was to return -----------------------------------------------------


def _find_result(text: SourceText, function: Function) -> tuple[ast.stmt, str] | None:
    """Return the last statement of a function that returns nothing at its end, and the
    expression whose value it has then; None for other functions.
    """
    own = list(iter_own_nodes(function))
    if function.name in PROCEDURES or any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in own
    ):
        return None
    if _is_setter(function) or any(
        isinstance(node, ast.Return) and node.value is None for node in own
    ):
        return None
    last = function.body[-1]
    result = _find_value(text, last)
    return (last, result) if result else None


def _is_setter(function: Function) -> bool:
    """Return whether a function sets a property."""
    return any(get_last_name(node) == "setter" for node in function.decorator_list)


def _find_value(text: SourceText, last: ast.stmt) -> str:
    """Return the expression whose value a last statement computes, or nothing."""
    if isinstance(last, ast.For | ast.With):
        inner = last.body[-1]
        is_call = isinstance(inner, ast.Expr) and not _get_changed(inner)
        return "" if is_call else _find_value(text, inner)
    if isinstance(last, ast.If):
        branches = [
            _find_value(text, block[-1]) for block in (last.body, last.orelse) if block
        ]
        is_named = all(branch.isidentifier() for branch in branches)
        return branches[0] if is_named and len(set(branches)) == 1 else ""
    if isinstance(last, ast.Assign) and len(last.targets) == 1:
        return _write_target(text, last.targets[0])
    if isinstance(last, ast.AugAssign):
        return _write_target(text, last.target)
    if isinstance(last, ast.Expr):
        changed = _get_changed(last)
        if changed or isinstance(last.value, ast.Constant | ast.Await):
            return changed
        if isinstance(last.value, ast.Call):
            return "" if get_called_name(last.value) in SILENT else text.line_of(last)
        return text.line_of(last)
    return ""


def _write_target(text: SourceText, target: ast.expr) -> str:
    """Return the name that is set, or whose item is set."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Tuple):
        is_named = all(isinstance(part, ast.Name) for part in target.elts)
        return text.line_of(target) if is_named else ""
    return text.written(target) if isinstance(target, ast.Name) else ""


def _get_changed(statement: ast.Expr) -> str:
    """Return the name of the object that a call changes: `rows` of `rows.append(x)`."""
    call = statement.value
    func = call.func if isinstance(call, ast.Call) else None
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return ""
    is_in_place = func.attr.endswith("_") and not func.attr.startswith("_")
    return func.value.id if func.attr in CHANGES or is_in_place else ""


# -- whether its value is used ---------------------------------------------------------


def _is_value_used(program: Program, text: SourceText, function: Function) -> bool:
    """Return whether the program uses what a function returns; one that is handed on
    as a value counts if its last statement computes something for nothing.
    """
    if function.name in CALLED_BY_OTHERS:
        return True
    last = function.body[-1]
    is_for_nothing = _is_for_nothing(function)
    declared = {
        name
        for node in iter_own_nodes(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    if is_for_nothing and collect_names(last, ast.Store) & declared:
        return False
    for own in program.own_texts():
        for node in own.nodes:
            if not isinstance(node, ast.Name | ast.Attribute):
                continue
            if get_last_name(node) != function.name or isinstance(node.ctx, ast.Store):
                continue
            call = own.parent(node)
            if isinstance(call, ast.Call) and call.func is node:
                if not isinstance(own.parent(call), ast.Expr | ast.Await):
                    return True
                continue
            caller = get_called_name(call or node)
            is_dropped = caller.startswith(CALLERS_FOR_NOTHING)
            if is_for_nothing and isinstance(node, ast.Name) and not is_dropped:
                return True
    return False


def _is_for_nothing(function: Function) -> bool:
    """Return whether the last statement of a function computes what nothing reads, or
    torch or Python call it for a value.
    """
    last = function.body[-1]
    is_name_set = isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name)
    return is_name_set or function.name in CALLED_BY_OTHERS


def _collect_called(text: SourceText, node: ast.AST) -> set[str]:
    """Return the names of the calls that the values at a place come from."""
    called: set[str] = set()
    seen: set[ast.AST] = set()
    values: list[ast.AST] = [node]
    for _ in range(DEEP):
        values = list(_iter_sources(text, values, seen))
        called |= {
            get_called_name(part)
            for value in values
            for part in ast.walk(value)
            if isinstance(part, ast.Call)
        }
    called |= {get_called_name(part) for part in ast.walk(node)}
    for name in called - {""}:  # those of the classes of modules and objects
        called |= {get_called_name(value) for value in find_defining(text, name)}
    return called - {""}


def _iter_sources(
    text: SourceText, nodes: list[ast.AST], seen: set[ast.AST]
) -> Iterator[ast.AST]:
    """Yield the expressions that the names in some expressions are set to."""
    for node in nodes:
        for part in ast.walk(node):
            name = get_last_name(part)
            for value in find_defining(text, name) if name else ():
                if value not in seen:
                    seen.add(value)
                    yield value
