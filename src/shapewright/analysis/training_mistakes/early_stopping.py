"""Find early stopping whose count goes on from one improvement to the next.

The text says it: a count grows where a number did not become the best one, a limit of
the count ends the loop, and nothing in the loop sets the count back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import PATIENCE_NOT_RESET, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_own_attribute,
)

PATIENCE = re.compile(
    r"patien|wait|improv|stop|bad|stale|stagn|plateau|since|early|wors|toler", re.I
)
"""Parts of names of a count of epochs without improvement, or of its limit."""
ON_PURPOSE = re.compile(r"total|cumul|overall|(^|_)all_|lifetime|budget|ever", re.I)
"""Parts of names that say that a count is of the whole training."""
ENDING = frozenset({"exit", "stop", "_exit"})
FALLING = (ast.Lt, ast.LtE)
ORDERS = (*FALLING, ast.Gt, ast.GtE)
KEPT = (ast.Name, ast.Attribute, ast.Subscript)


@looks_for(PATIENCE_NOT_RESET)
def find_patience_not_reset(scene: RehearsalContext) -> Iterator[Finding]:
    """Find counts of epochs without improvement that no improvement sets back."""
    for text in scene.program.own_texts() if scene.training.optimizers else ():
        for node in text.nodes:
            name = _get_counted(node)
            if not name or not isinstance(node, ast.stmt):
                continue
            limit = _find_limit(text, node, name)
            words = f"{name} {limit}"
            if not limit or not PATIENCE.search(words) or ON_PURPOSE.search(words):
                continue
            update = _find_update(text, node)
            if update is None or _is_set_elsewhere(text, node, name):
                continue
            best = ast.unparse(_list_targets(update)[0])
            yield build_finding(
                PATIENCE_NOT_RESET,
                f"`{name}` is not set back where `{best}` is updated: it counts all"
                " epochs without improvement and not those in a row, so that the"
                " training stops too early",
                text.span(node),
                (text.span(update), "an improvement is kept here"),
            )


def _get_counted(node: ast.AST) -> str:
    """Return what a statement counts: `wait` of `wait += 1`, or an empty string."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        is_one = isinstance(node.value, ast.Constant) and node.value.value == 1
        return ast.unparse(node.target) if is_one else ""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        total = node.value
        target = ast.unparse(node.targets[0])
        sides = {ast.unparse(total.left), ast.unparse(total.right)}
        return target if sides == {target, "1"} else ""
    return ""


def _get_scope(text: SourceText, node: ast.stmt, name: str) -> ast.AST | None:
    """Return what runs once for each number that may be the best: the loop around a
    count, or the class that has it.
    """
    if name.startswith("self."):
        return text.around(node, ast.ClassDef)
    loop = text.around(node, *LOOPS)
    function = text.around(node, *FUNCTIONS)
    if loop is None or (function is not None and loop not in ast.walk(function)):
        return None
    return loop


def _find_limit(text: SourceText, node: ast.stmt, name: str) -> str:
    """Return the limit with which a count is compared to end the loop, or an empty
    string.
    """
    scope = _get_scope(text, node, name)
    for test in ast.walk(scope) if scope is not None else ():
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
        op = test.ops[0]
        if right == name:
            left, right = right, left
            is_above = isinstance(op, ast.Lt | ast.LtE)
        else:
            is_above = isinstance(op, ast.Gt | ast.GtE)
        if left != name:
            continue
        if (is_above or isinstance(op, ast.Eq)) and _is_ending(text, test):
            return right
        is_head = isinstance(scope, ast.While) and test in ast.walk(scope.test)
        if is_head and not is_above:
            return right
    return ""


def _is_ending(text: SourceText, test: ast.Compare) -> bool:
    """Return whether a loop ends where a comparison is true."""
    statement = text.statement_of(test)
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, ast.Assign):
        return statement.value is test
    if not isinstance(statement, ast.If) or test not in ast.walk(statement.test):
        return False
    inside = [part for kept in statement.body for part in ast.walk(kept)]
    return any(
        isinstance(part, ast.Break | ast.Return | ast.Raise)
        or get_called_name(part) in ENDING
        or (
            isinstance(part, ast.Assign)
            and isinstance(part.value, ast.Constant)
            and part.value.value is True
        )
        for part in inside
    )


def _find_update(text: SourceText, node: ast.stmt) -> ast.stmt | None:
    """Return the statement that keeps the best number in the branch that does not
    count, or None.
    """
    inner: ast.AST = node
    for outer in text.outwards(node):
        if isinstance(outer, ast.If):
            in_body = inner in outer.body
            other = outer.orelse if in_body else outer.body
            update = _find_kept(text, outer.test, other)
            if update is not None:
                return update
        update = _find_update_above(text, outer, inner)
        if update is not None:
            return update
        if isinstance(outer, (*LOOPS, *FUNCTIONS)):
            return None
        inner = outer
    return None


def _find_update_above(
    text: SourceText, outer: ast.AST, inner: ast.AST
) -> ast.stmt | None:
    """Return the update of a branch above a statement that goes on with the next turn,
    or whose opposite the statement asks for.
    """
    for body in (getattr(outer, "body", []), getattr(outer, "orelse", [])):
        if not isinstance(body, list) or inner not in body:
            continue
        for branch in body[: body.index(inner)]:
            if not isinstance(branch, ast.If) or branch.orelse:
                continue
            goes_on = isinstance(branch.body[-1], ast.Continue | ast.Return)
            is_opposite = isinstance(inner, ast.If) and _is_opposite(
                branch.test, inner.test
            )
            update = _find_kept(text, branch.test, branch.body)
            if update is not None and (goes_on or is_opposite):
                return update
    return None


def _is_opposite(test: ast.expr, other: ast.expr) -> bool:
    """Return whether two comparisons ask for the two orders of the same numbers."""
    if isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not):
        return ast.unparse(other.operand) == ast.unparse(test)
    if not isinstance(test, ast.Compare) or not isinstance(other, ast.Compare):
        return False
    sides = [
        [ast.unparse(part) for part in (compare.left, *compare.comparators)]
        for compare in (test, other)
    ]
    falls = [isinstance(compare.ops[0], FALLING) for compare in (test, other)]
    is_order = isinstance(test.ops[0], ORDERS) and isinstance(other.ops[0], ORDERS)
    return sides[0] == sides[1] and is_order and falls[0] != falls[1]


def _find_kept(
    text: SourceText, test: ast.expr, body: list[ast.stmt]
) -> ast.stmt | None:
    """Return the statement that keeps what a test compares with: `best = value` below
    `if value < best`.
    """
    compared = _list_compared(text, test, 1)
    for statement in body:
        if isinstance(statement, ast.Assign):
            kept = {ast.unparse(target) for target in _list_targets(statement)}
            if kept & compared:
                return statement
    return None


def _list_compared(text: SourceText, test: ast.expr, depth: int) -> set[str]:
    """Return what a test compares, also where its result has a name."""
    compared = set[str]()
    for part in ast.walk(test):
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ORDERS):
            for side in (part.left, *part.comparators):
                compared |= {
                    ast.unparse(inner)
                    for inner in ast.walk(side)
                    if isinstance(inner, KEPT)
                }
        elif isinstance(part, ast.Call):
            compared |= {ast.unparse(a) for a in part.args if isinstance(a, KEPT)}
        elif isinstance(part, ast.Name) and depth:
            scope = text.around(test, *FUNCTIONS) or text.tree
            for node in ast.walk(scope) if scope is not None else ():
                if (
                    isinstance(node, ast.Assign)
                    and node.lineno < test.lineno
                    and ast.unparse(node.targets[0]) == part.id
                ):
                    compared |= _list_compared(text, node.value, depth - 1)
    return compared


def _list_targets(statement: ast.stmt) -> list[ast.expr]:
    """Return what an assignment sets, also each of several."""
    if not isinstance(statement, ast.Assign):
        return []
    targets: list[ast.expr] = []
    for target in statement.targets:
        targets += target.elts if isinstance(target, ast.Tuple) else [target]
    return targets


def _is_set_elsewhere(text: SourceText, node: ast.stmt, name: str) -> bool:
    """Return whether something other than additions sets a count within its loop, or in
    a method of its class that is not the constructor.
    """
    scope = _get_scope(text, node, name)
    is_own = isinstance(scope, ast.ClassDef)
    inside = set(ast.walk(scope)) if scope is not None else set()
    for part in text.nodes:
        if not isinstance(part, KEPT) or not isinstance(part.ctx, ast.Store):
            continue
        written = ast.unparse(part)
        is_same = written == name
        if is_own and isinstance(part, ast.Attribute):
            is_same = part.attr == name.partition(".")[2]
        if not is_same or _get_counted(text.statement_of(part)) == name:
            continue
        function = text.around(part, *FUNCTIONS)
        if is_own and get_own_attribute(part):
            if part not in inside or _is_start(text, part, node):
                continue
            return True
        if is_own or part in inside or _is_shared(function, name):
            return True
    return False


def _is_start(text: SourceText, part: ast.expr, node: ast.stmt) -> bool:
    """Return whether a count is set by the constructor, or before the loop in which it
    grows.
    """
    function = text.around(part, *FUNCTIONS)
    if isinstance(function, ast.FunctionDef) and function.name == "__init__":
        return True
    loop = text.around(node, *LOOPS)
    if loop is None or function is not text.around(node, *FUNCTIONS):
        return False
    return part not in ast.walk(loop) and part.lineno < loop.lineno


def _is_shared(function: ast.AST | None, name: str) -> bool:
    """Return whether a function sets a name of the functions around it."""
    return any(
        isinstance(node, ast.Global | ast.Nonlocal) and name in node.names
        for node in (ast.walk(function) if function is not None else ())
    )
