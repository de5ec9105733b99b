"""Sums that a loop adds up, and the divisions below the loop that read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_line,
    iter_assignments,
)

COLLECTING = operators_with("takes_program_data") | {"array", "stack"}
MEANS = frozenset({"mean", "fmean", "average"})
VALUES = operators_with("leaves_graph")


def get_addition(node: ast.stmt) -> tuple[str, ast.expr | None, bool]:
    """Return the total that a statement adds to, the value added, and whether the total
    is a list.
    """
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return ast.unparse(node.target), node.value, False
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, value = ast.unparse(node.targets[0]), node.value
        if isinstance(value.op, ast.Add):
            if ast.unparse(value.left) == target:
                return target, value.right, False
            if ast.unparse(value.right) == target:
                return target, value.left, False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if get_called_name(call) == "add_" and isinstance(call.func, ast.Attribute):
            added = call.args[0] if len(call.args) == 1 and not call.keywords else None
            return ast.unparse(call.func.value), added, False
        if get_called_name(call) == "append" and isinstance(call.func, ast.Attribute):
            added = call.args[0] if call.args else None
            return ast.unparse(call.func.value), added, True
    return "", None, False


def strip_conversions(node: ast.expr) -> ast.expr:
    """Return `loss` of `loss.detach()`, `float(loss)` and `loss.item()`."""
    while isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in VALUES and not node.args:
            node = func.value
        elif get_called_name(node) in ("float", "int") and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    return node


def iter_divisions(
    text: SourceText, loop: ast.For, addition: ast.stmt | None = None
) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr, ast.expr]]:
    """Yield the divisions below a loop, `a / b` and `a /= b`, with their dividends and
    divisors; also those in the loop behind a statement that adds, such as for a log of
    every tenth batch.
    """
    inside: list[ast.expr | ast.stmt] = []
    if addition is not None:
        end = get_last_line(addition)
        inside = [
            node
            for node in ast.walk(loop)
            if isinstance(node, ast.expr | ast.stmt) and node.lineno > end
        ]
    for node in (*_iter_nodes_after(text, loop), *inside):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield node, node.left, node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            yield node, node.target, node.value


def is_same(node: ast.expr, total: str) -> bool:
    """Return whether a node is a total, or a conversion of it to a number or, as
    `100 * total`, to percents.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        if isinstance(node.left, ast.Constant):
            return is_same(node.right, total)
        if isinstance(node.right, ast.Constant):
            return is_same(node.left, total)
    while isinstance(node, ast.Call) and get_called_name(node) in (*VALUES, "float"):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if inner is None and not node.args:
            return False
        node = inner if inner is not None else node.args[0]
    return ast.unparse(node) == total


def is_of_all(text: SourceText, node: ast.expr, total: str) -> bool:
    """Return whether a node stands for every entry of a dict that holds a total: `v` of
    `for k, v in sums.items()`.
    """
    owner, bracket, _ = total.partition("[")
    if not bracket or not isinstance(node, ast.Name):
        return False
    around: ast.For | ast.DictComp | ast.ListComp | ast.GeneratorExp | None
    around = text.around(node, ast.DictComp, ast.ListComp, ast.GeneratorExp, ast.For)  # type: ignore[assignment]
    if around is None:
        return False
    loops: list[ast.For | ast.comprehension] = (
        [around] if isinstance(around, ast.For) else [*around.generators]
    )
    return any(
        node.id in collect_names(part.target)
        and ast.unparse(part.iter) in (f"{owner}.items()", f"{owner}.values()")
        for part in loops
    )


def is_sum_of(node: ast.expr, total: str) -> bool:
    """Return whether a node is the sum of a list: `sum(losses)`,
    `torch.stack(losses).sum()`.
    """
    if not isinstance(node, ast.Call):
        return False
    if get_called_name(node) in VALUES and isinstance(node.func, ast.Attribute):
        return is_sum_of(node.func.value, total)
    if get_called_name(node) not in ("sum", "fsum"):
        return False
    if node.args:
        return ast.unparse(node.args[0]) == total
    collection = node.func.value if isinstance(node.func, ast.Attribute) else None
    return (
        isinstance(collection, ast.Call)
        and bool(collection.args)
        and get_called_name(collection) in COLLECTING
        and ast.unparse(collection.args[0]) == total
    )


def is_mean_of(node: ast.AST, total: str) -> bool:
    """Return whether a node is the mean of a list: `np.mean(losses)`,
    `torch.stack(losses).mean()`, `sum(losses) / len(losses)`.
    """
    if isinstance(node, ast.BinOp):
        is_length = ast.unparse(node.right) == f"len({total})"
        return isinstance(node.op, ast.Div) and (
            is_length and is_sum_of(node.left, total)
        )
    if not isinstance(node, ast.Call) or get_called_name(node) not in MEANS:
        return False
    if any(word.arg == "weights" for word in node.keywords):
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(owner, ast.Call) and get_called_name(owner) in COLLECTING:
        node = owner
    return bool(node.args) and ast.unparse(node.args[0]) == total


def iter_means(text: SourceText, loop: ast.For, total: str) -> Iterator[ast.expr]:
    """Yield the means of a list below the loop that fills it."""
    for node in _iter_nodes_after(text, loop):
        if isinstance(node, ast.expr) and is_mean_of(node, total):
            yield node


def iter_entry_means(text: SourceText, loop: ast.For, total: str) -> Iterator[ast.expr]:
    """Yield the means below the loop of one entry of each dict in a list:
    `np.mean([x["loss"] for x in results])`.
    """
    for node in _iter_nodes_after(text, loop):
        if not isinstance(node, ast.Call) or get_called_name(node) not in MEANS:
            continue
        parts = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if not isinstance(parts, ast.ListComp | ast.GeneratorExp):
            continue
        over, entry = parts.generators[0], parts.elt
        is_entry = isinstance(entry, ast.Subscript) and (
            ast.unparse(entry.value) == ast.unparse(over.target)
        )
        if is_entry and ast.unparse(over.iter) == total and not over.ifs:
            yield node


def iter_entries(
    text: SourceText, scope: ast.AST, added: ast.expr
) -> Iterator[ast.expr]:
    """Yield the values of a dict that is added to a list, also those that are written
    to it by their keys; of `f[name](x)` calls of the functions in `f`.
    """
    values = [added]
    if isinstance(added, ast.Name):
        values = [
            value
            for target, value in iter_assignments(scope)
            if ast.unparse(target).partition("[")[0] == added.id
        ]
    for value in values:
        if isinstance(value, ast.Dict):
            yield from value.values
        elif isinstance(value, ast.DictComp):
            yield from _iter_chosen_calls(text, value.value)
        elif not isinstance(added, ast.Dict | ast.DictComp):
            yield value


def _iter_chosen_calls(text: SourceText, value: ast.expr) -> Iterator[ast.expr]:
    """Yield a value; of a call of a function from a dict, a call of each function."""
    chosen = value.func if isinstance(value, ast.Call) else None
    if not isinstance(value, ast.Call) or not isinstance(chosen, ast.Subscript):
        yield value
        return
    table = ast.unparse(chosen.value)
    for target, functions in iter_assignments(text.tree):
        if isinstance(functions, ast.Dict) and ast.unparse(target) == table:
            for function in functions.values:
                yield ast.Call(function, value.args, value.keywords)


def is_set_between(
    text: SourceText, loop: ast.For, total: str, place: ast.expr | ast.stmt
) -> bool:
    """Return whether a total is reassigned between its loop and a place below."""
    return any(
        isinstance(node, ast.Assign)
        and get_last_line(node) < place.lineno
        and any(ast.unparse(target) == total for target in node.targets)
        for node in _iter_nodes_after(text, loop)
    )


def _iter_nodes_after(text: SourceText, loop: ast.For) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes below the loop in the same function."""
    function = text.around(loop, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.expr | ast.stmt) and node.lineno > get_last_line(loop):
            yield node
