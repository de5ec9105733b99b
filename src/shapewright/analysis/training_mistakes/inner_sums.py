"""Find accuracies that a loop within the batches adds up, one for each step or head,
and that are divided by the number of batches alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shapewright.analysis.training_mistakes.additions import (
    get_addition,
    is_same,
    is_set_between,
    iter_divisions,
    strip_conversions,
)
from shapewright.analysis.training_mistakes.context import StoryLoop, build_finding
from shapewright.findings.codes import COUNT_OVER_BATCHES
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import LOOPS, collect_names, get_called_name

ACCURACY = re.compile(r"(^|_)(acc|accs|accuracy|accuracies)(_|\d|$)", re.I)
SCALING = (ast.Div, ast.Mult, ast.FloorDiv)
IsCount = Callable[[SourceText, StoryLoop, ast.expr], bool]


def find_inner_sums(loop: StoryLoop, is_batch_count: IsCount) -> Iterator[Finding]:
    """Yield the sums of accuracies over an inner loop that only the number of batches
    divides.
    """
    text = loop.text
    for node in ast.walk(loop.node):
        inner = text.around(node, *LOOPS)
        if not isinstance(node, ast.stmt) or not isinstance(inner, ast.For):
            continue
        if text.around(inner, *LOOPS) is not loop.node or node not in inner.body:
            continue
        total, added, is_list = get_addition(node)
        owner = total.partition("[")[0]
        is_entry = "[" in total
        if added is None or is_list or not _is_accuracy(text, inner, owner, added):
            continue
        if is_entry and not collect_names(node) & collect_names(inner.target):
            continue
        if _is_single(inner) or _is_reset(loop, owner):
            continue
        for place, divided, by in iter_divisions(text, loop.node):
            same = is_sum_of_entries(divided, owner) if is_entry else (
                is_same(divided, total)
            )  # fmt: skip
            if not same or is_set_between(text, loop.node, total, place):
                continue
            if not is_batch_count(text, loop, by) or _is_scaled_later(text, place):
                continue
            yield build_finding(
                COUNT_OVER_BATCHES,
                f"`{owner}` has several accuracies of each batch, one for each turn of"
                f" the inner loop, and is divided by the number of batches:"
                f" `{ast.unparse(by)}`",
                text.span(place),
                (text.span(node), f"`{text.line_of(node)}` in each turn"),
            )


def is_sum_of_entries(node: ast.expr, owner: str) -> bool:
    """Return whether an expression is the sum of all entries: `sum(d.values())`."""
    if get_called_name(node) not in ("sum", "fsum") or not isinstance(node, ast.Call):
        return False
    whole = [ast.unparse(value) for value in node.args]
    return whole in ([owner], [f"{owner}.values()"])


def _is_accuracy(text: SourceText, inner: ast.For, total: str, added: ast.expr) -> bool:
    """Return whether what is added is an accuracy that nothing has divided."""
    if ACCURACY.search(total.rpartition(".")[2]) is None:
        return False
    plain = strip_conversions(added)
    if isinstance(plain, ast.Name):
        if plain.id in collect_names(inner.target):
            return True
        values = [
            node.value
            for node in inner.body
            if isinstance(node, ast.Assign)
            and plain.id in collect_names(node.targets[0], ast.Store)
        ]
        plain = strip_conversions(values[0]) if len(values) == 1 else plain
    is_call = isinstance(plain, ast.Call)
    name = get_called_name(plain)
    is_own = ACCURACY.search(name) is not None and bool(text.functions(name))
    return is_call and (name == "mean" or is_own)


def _is_single(inner: ast.For) -> bool:
    """Return whether a loop may have one turn only, or goes over batches itself."""
    iterated = ast.unparse(inner.iter)
    return iterated == "range(1)" or "loader" in iterated.lower()


def _is_reset(loop: StoryLoop, total: str) -> bool:
    """Return whether a total begins anew with each batch, or is divided there."""
    for node in ast.walk(loop.node):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, SCALING):
            targets = [node.target]
        if any(ast.unparse(target).partition("[")[0] == total for target in targets):
            return True
    return False


def _is_scaled_later(text: SourceText, place: ast.expr | ast.stmt) -> bool:
    """Return whether a quotient, or the name that it gets, is divided once more."""
    parent = text.parent(place)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, SCALING):
        return not any(
            isinstance(side, ast.Constant) for side in (parent.left, parent.right)
        )
    statement = text.statement_of(place)
    names = (
        collect_names(statement.targets[0], ast.Store)
        if isinstance(statement, ast.Assign)
        else set()
    )
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and node.lineno > place.lineno
        and collect_names(node.left) & names
        for node in text.nodes
    ) or any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Div)
        and ast.unparse(node.target) in names
        for node in text.nodes
    )
