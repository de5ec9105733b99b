"""Find counts that a loop over several sums raises once for each of them, where each
sum is divided by the count: `n += 1` beside `sums[name] += value`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.additions import get_addition
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MEAN_OVER_SAMPLES
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

LIMITING = operators_with("clamps") | {"max", "float", "int", "item"}
"""Calls that give their operand, or a number that is not 0."""
DIVIDING = ast.Div | ast.FloorDiv


@dataclass(frozen=True, slots=True)
class _RepeatedCount:
    """A statement that counts in each turn of a loop over sums, the one beside it that
    adds to the sum of the turn, and the division of one sum by the count.
    """

    loop: ast.For
    count: ast.AugAssign
    addition: ast.stmt
    division: ast.expr


def find_repeated_counts(scene: RehearsalContext) -> Iterator[Finding]:
    """Find counts of all turns by which the sum of one of them is divided."""
    lines = {
        (op.span.file, op.span.line)
        for op in scene.program.trace.ops
        if op.span is not None
    }
    for text in scene.program.own_texts():
        for repeated in iter_repeated_counts(text):
            addition, count = repeated.addition, repeated.count
            if (text.file, addition.lineno) not in lines:
                continue
            name, total = text.line_of(count.target), get_addition(addition)[0]
            yield build_finding(
                MEAN_OVER_SAMPLES,
                f"`{name}` is raised in each turn of the loop over"
                f" `{text.line_of(repeated.loop.iter)}`, and each `{total}` in one turn"
                f" alone: `{text.line_of(repeated.division)}` is as many times too"
                " small as the loop has turns",
                text.span(count),
                (text.span(addition), "the sum of this turn grows here"),
                (text.span(repeated.division), "one sum is divided by the whole count"),
            )


def iter_repeated_counts(text: SourceText) -> Iterator[_RepeatedCount]:
    """Yield the counts of a text that grow once for each of several sums."""
    for loop in text.nodes:
        if not isinstance(loop, ast.For) or not _has_own_keys(loop):
            continue
        for count in loop.body:
            if not isinstance(count, ast.AugAssign) or not _is_count(text, loop, count):
                continue
            for addition in loop.body:
                division = _find_division(text, loop, count, addition)
                if division is not None:
                    yield _RepeatedCount(loop, count, addition, division)
                    break


def _has_own_keys(loop: ast.For) -> bool:
    """Return whether a loop goes over names, a dict or places, each of them once."""
    source = loop.iter
    if isinstance(source, ast.Tuple | ast.List):
        values = [getattr(item, "value", None) for item in source.elts]
        is_known = all(isinstance(value, str | int) for value in values)
        return is_known and len(set(values)) == len(values) > 1
    if not isinstance(source, ast.Call):
        key = loop.target.id if isinstance(loop.target, ast.Name) else ""
        return any(
            isinstance(node, ast.Subscript)
            and ast.unparse(node.value) == ast.unparse(source)
            and ast.unparse(node.slice) == key
            for node in ast.walk(loop)
        )
    if get_called_name(source) == "enumerate":
        return len(source.args) == 1 and isinstance(loop.target, ast.Tuple)
    is_whole = isinstance(source.func, ast.Attribute) and not source.args
    return is_whole and get_called_name(source) in ("items", "keys")


def _is_count(text: SourceText, loop: ast.For, count: ast.AugAssign) -> bool:
    """Return whether a statement adds the same in each turn to a number that only it
    changes, and that goes on behind the loop.
    """
    if not isinstance(count.op, ast.Add):
        return False
    if collect_names(count) & collect_names(loop, ast.Store) - collect_names(
        count.target, ast.Store
    ):
        return False
    base, outer = _get_base(count.target), text.around(loop, *LOOPS)
    if not base or (outer is None and not base.startswith("self.")):
        return False
    is_anew = any(_get_base(target) == base for target, _ in iter_assignments(outer))
    scope = text.around(loop, ast.ClassDef if "." in base else ast.FunctionDef)
    changes = [
        node
        for node in (text.nodes if scope is None else ast.walk(scope))
        if isinstance(node, ast.AugAssign)
        if _get_base(node.target) == base
    ]
    is_within = outer is not None and text.around(outer, *FUNCTIONS) is text.around(
        loop, *FUNCTIONS
    )
    return changes == [count] and not (is_within and is_anew)


def _find_division(
    text: SourceText, loop: ast.For, count: ast.AugAssign, addition: ast.stmt
) -> ast.expr | None:
    """Return where the entry of a key is divided by a count, if a statement adds what
    is of the key to it.
    """
    _, added, is_list = get_addition(addition)
    target = getattr(addition, "target", None)
    if added is None or is_list or not isinstance(target, ast.Subscript):
        return None
    base, own = _get_base(target), collect_names(loop.target)
    keys = set().union(*map(collect_names, _iter_indices(target))) & own
    if not keys or not collect_names(added) & collect_names(loop, ast.Store):
        return None
    scope = text.around(loop, ast.ClassDef if "." in base else ast.FunctionDef)
    for node in text.nodes if scope is None else ast.walk(scope):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, DIVIDING):
            continue
        is_one = isinstance(node.left, ast.Subscript) and _get_base(node.left) == base
        by = _strip_limits(node.right)
        if not (is_one or _is_value_of(text, node.left, base)):
            continue
        if _get_base(by) == _get_base(count.target) and not isinstance(
            text.parent(node), ast.BinOp
        ):
            return node
    return None


def _get_base(node: ast.expr) -> str:
    """Return `self.sums` of `self.sums[name][i]`, or an empty string."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return get_dotted_name(node)


def _iter_indices(node: ast.expr) -> Iterator[ast.expr]:
    """Yield `name` and `i` of `self.sums[name][i]`."""
    while isinstance(node, ast.Subscript):
        yield node.slice
        node = node.value


def _strip_limits(node: ast.expr) -> ast.expr:
    """Return `n` of `max(n, 1)`, `n.clamp(min=1)` and `float(n)`."""
    while isinstance(node, ast.Call) and get_called_name(node) in LIMITING:
        if node.args and not isinstance(node.args[0], ast.Constant):
            node = node.args[0]
        elif len(node.args) > 1:
            node = node.args[1]
        elif isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    return node


def _is_value_of(text: SourceText, node: ast.expr, base: str) -> bool:
    """Return whether a node is the variable of a loop over the values of a dict."""
    if not isinstance(node, ast.Name):
        return False
    for outer in text.outwards(node):
        loops: list[ast.For | ast.comprehension] = []
        if isinstance(outer, ast.For):
            loops = [outer]
        elif isinstance(outer, ast.DictComp | ast.ListComp | ast.GeneratorExp):
            loops = [*outer.generators]
        for loop in loops:
            if node.id in collect_names(loop.target):
                whole = ast.unparse(loop.iter)
                return whole in (f"{base}.items()", f"{base}.values()")
    return False
