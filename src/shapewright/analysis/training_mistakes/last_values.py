"""Find sums of the values of a dict that stand behind the loop over them: only the last
value is added.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.training_mistakes.additions import (
    get_addition,
    strip_conversions,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SUM_AFTER_LOOP
from shapewright.findings.finding import Finding
from shapewright.operators.facts import values_of
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_line,
)

ENDING = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom)
ZEROS = frozenset(
    name for name, number in values_of("fills_with").items() if number == 0
)


def find_last_values(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `total += value` behind `for name, value in losses.items():`.

    A dict has no last value that is worth more than the others. Of a list it may be
    the last step or layer, so nothing is said there.
    """
    for text in scene.program.own_texts():
        for node in text.nodes if text is not None else ():
            if isinstance(node, ast.For) and text is not None:
                yield from _find_behind(text, node)


def _find_behind(text: SourceText, loop: ast.For) -> Iterator[Finding]:
    """Yield the additions of a loop's last value in the block of the loop."""
    names = _list_values(loop)
    if not names or loop.orelse or _is_idle(loop):
        return
    if any(isinstance(part, ENDING) for part in ast.walk(loop)):
        return
    names -= {name for part in loop.body for name in collect_names(part, ast.Store)}
    block = find_block(text, loop)
    behind = block[block.index(loop) + 1 :] if loop in block else []
    for statement in behind:
        total, added, is_list = get_addition(statement)
        value = _get_added(added) if added is not None else None
        if value is not None and value in names and not is_list:
            is_inside = any(
                ast.unparse(part) == total
                for part in ast.walk(loop)
                if isinstance(part, ast.Name | ast.Attribute)
            )
            if _is_begun_at_zero(text, loop, total) and not is_inside:
                over = text.line_of(loop.iter)
                yield build_finding(
                    SUM_AFTER_LOOP,
                    f"`{total}` is increased after the loop over `{over}`, so only its"
                    f" last `{value}` counts",
                    text.span(statement),
                    (text.span(loop.target), "the loop that it follows"),
                )
                return
        names -= collect_names(statement, ast.Store)


def _list_values(loop: ast.For) -> set[str]:
    """Return the names that a loop gives to the values of a dict."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return set()
    called = get_called_name(call)
    if called == "values" and isinstance(target, ast.Name):
        return {target.id}
    if called == "items" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        return collect_names(target.elts[1])
    return set()


def _is_idle(loop: ast.For) -> bool:
    """Return whether a loop does nothing but find its last value."""
    return all(isinstance(part, ast.Pass) for part in loop.body)


def _get_added(added: ast.expr) -> str | None:
    """Return the name that is added, as it is, as a number, or times a factor."""
    added = strip_conversions(added)
    if isinstance(added, ast.Name):
        return added.id
    if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult):
        for factor in (added.right, added.left):
            factor = strip_conversions(factor)
            if isinstance(factor, ast.Name):
                return factor.id
    return None


def _is_begun_at_zero(text: SourceText, loop: ast.For, total: str) -> bool:
    """Return whether the last value that a function gives to a total above a loop is
    zero, and the function does not set it behind.
    """
    function = text.around(loop, *FUNCTIONS)
    nodes = list(ast.walk(function)) if function is not None else text.nodes
    writes = [
        node
        for node in nodes
        if isinstance(node, ast.Assign)
        and total in [ast.unparse(target) for target in node.targets]
        and get_addition(node)[0] != total
    ]
    if len(writes) != 1 or writes[0].lineno > get_last_line(loop):
        return False
    value = writes[0].value
    if isinstance(value, ast.Call):
        return get_called_name(value) in ZEROS
    return isinstance(value, ast.Constant) and value.value == 0
