"""Losses that have become numbers of Python before `backward()`: each `.item()`,
`float(...)` or `.numpy()` on the way, and the edit without it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
)

OF_NUMBERS = re.compile(
    r"'(float|int|numpy\.\w+|float64|float32)' object has no attribute 'backward'"
)
TAKES_NUMBER = operators_with("returns_python_value")
"""Methods that give a number or an array for a tensor."""
SUMS = operators_with("reduces_dims") | {"values", "list"}
"""Functions whose result is made of the items of their argument."""
MOST_DEEP = 6
MOST_PLACES = 3


def find_number_loss(program: Program, finding: Finding) -> Explanation | None:
    """Return where a loss became a number before its `backward()`, or None."""
    refused = OF_NUMBERS.search(finding.words)
    place = program.node(finding.span)
    if refused is None or place is None:
        return None
    text = place[0]
    for read in ast.walk(place[1]):
        if not isinstance(read, ast.Attribute) or read.attr != "backward":
            continue
        loss = read.value
        search = _Search(program)
        search.follow(text, loss)
        if not search.takers:
            return None
        written = text.line_of(loss)
        where, taker = search.takers[0]
        taken = join_lines(where.written(taker))
        kind = refused[1].rpartition(".")[2]
        message = (
            f"`{written}` is a `{kind}` and has no graph to go back through: `{taken}`"
            " takes the number out of a tensor"
        )
        related = tuple(
            Related(own.span(node), "it becomes a number here")
            for own, node in search.takers[:MOST_PLACES]
        )
        fix = _suggest_last_loss(text, loss, search) or _suggest_tensors(search)
        return Explanation(message, related, (fix,) if fix is not None else ())
    return None


@dataclass
class _Search:
    """What a value was made of, followed back to the calls that took numbers.

    `takers` are these calls; `names` the reads on the way to the value; `sums` the
    statements that add to it.
    """

    program: Program
    takers: list[tuple[SourceText, ast.Call]] = field(default_factory=list)
    reads: set[ast.AST] = field(default_factory=set)
    sums: list[ast.AugAssign] = field(default_factory=list)
    seen: set[ast.AST] = field(default_factory=set)

    def follow(
        self, text: SourceText, node: ast.expr, item: int | None = None, depth: int = 0
    ) -> None:
        """Follow an expression, or an item of the tuple that it gives."""
        if node in self.seen or depth > MOST_DEEP:
            return
        self.seen.add(node)
        if isinstance(node, ast.Tuple) and item is not None:
            if item < len(node.elts):
                self.follow(text, node.elts[item], None, depth)
        elif isinstance(node, ast.Name | ast.Attribute) and get_dotted_name(node):
            self.reads.add(node)
            for value, at in _iter_sources(text, node, self.sums):
                self.follow(text, value, at, depth + 1)
        elif isinstance(node, ast.Call):
            self._follow_call(text, node, item, depth)
        elif isinstance(node, ast.Subscript):
            self.follow(text, node.value, None, depth)
        else:
            for part in _list_parts(node):
                self.follow(text, part, None, depth)

    def _follow_call(
        self, text: SourceText, node: ast.Call, item: int | None, depth: int
    ) -> None:
        """Follow what a function of the program returns, or what a sum is made of."""
        name = get_called_name(node)
        if _is_taker(node):
            self.takers.append((text, node))
            return
        for own in self.program.own_texts():
            for _, function in own.functions(name) if name else ():
                for back in ast.walk(function):
                    if isinstance(back, ast.Return) and back.value is not None:
                        self.follow(own, back.value, item, depth + 1)
        if name in SUMS:
            if isinstance(node.func, ast.Attribute):
                self.follow(text, node.func.value, None, depth)
            for part in node.args[:1]:
                self.follow(text, part, None, depth)


def _is_taker(node: ast.Call) -> bool:
    """Return whether a call gives the number of a tensor: `x.item()`, `float(x)`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in TAKES_NUMBER and not node.args
    is_named = isinstance(node.func, ast.Name) and node.func.id == "float"
    return is_named and bool(node.args) and not isinstance(node.args[0], ast.Constant)


def _list_parts(node: ast.expr) -> list[ast.expr]:
    """Return what an expression computes with."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return [node.elt]
    return []


def _iter_sources(
    text: SourceText, name: ast.expr, sums: list[ast.AugAssign]
) -> Iterator[tuple[ast.expr, int | None]]:
    """Yield what a name of a function is set to, what is added to it, and what a list
    or dict of that name gets.
    """
    written, scope = get_dotted_name(name), text.around(name, *FUNCTIONS)
    for node in text.nodes:
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Call):
            continue
        if text.around(node, *FUNCTIONS) is not scope:
            continue
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            is_filled = get_called_name(node) == "append" and len(node.args) == 1
            if is_filled and owner is not None and get_dotted_name(owner) == written:
                yield node.args[0], None
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            owner = target.value if isinstance(target, ast.Subscript) else target
            if get_dotted_name(owner) == written and node.value is not None:
                if isinstance(node, ast.AugAssign):
                    sums.append(node)
                yield node.value, None
            elif isinstance(target, ast.Tuple) and node.value is not None:
                for at, part in enumerate(target.elts):
                    if get_dotted_name(part) == written:
                        yield node.value, at


def _suggest_last_loss(
    text: SourceText, total: ast.expr, search: _Search
) -> Fix | None:
    """Return the edit `loss.backward()` for `total.backward()`, where the total of an
    epoch stands for the loss of a batch, whose number it is given.
    """
    loop = text.around(total, *LOOPS)
    if not isinstance(total, ast.Name) or loop is None:
        return None
    inside = list(ast.walk(loop))
    begun = [
        node
        for node in text.nodes
        if isinstance(node, ast.Assign)
        and any(total.id in collect_names(target) for target in node.targets)
    ]
    if any(node in inside for node in begun) or not begun:
        return None
    for added in search.sums:
        for _, taker in search.takers:
            owner = taker.func.value if isinstance(taker.func, ast.Attribute) else None
            if added not in inside or taker not in ast.walk(added.value):
                continue
            if get_dotted_name(added.target) == total.id and isinstance(
                owner, ast.Name
            ):
                edit = Edit(text.span(total), owner.id)
                return Fix("fits", f"`{owner.id}.backward()`", (edit,))
    return None


def _suggest_tensors(search: _Search) -> Fix | None:
    """Return the edit without the calls that take numbers, which leaves the numbers to
    what else reads them.
    """
    edits: list[Edit] = []
    shown = ""
    for text, taker in search.takers:
        inner = _get_tensor(taker)
        statement = text.statement_of(taker)
        new = text.written(inner)
        shown = shown or f"`{join_lines(new)}`"
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        is_whole = isinstance(statement, ast.Assign) and statement.value is taker
        if is_whole and text.written(targets[0]) == new:
            edits.append(cut_lines(text, statement))
            shown = f"without `{join_lines(text.written(statement))}`"
            continue
        edits.append(Edit(text.span(taker), new))
        if is_whole and isinstance(targets[0], ast.Name):
            edits += _iter_numbers(text, targets[0], search)
    return Fix("fits", shown, tuple(dict.fromkeys(edits))) if edits else None


def _get_tensor(taker: ast.Call) -> ast.expr:
    """Return the tensor whose number a call takes, before it leaves its graph."""
    inner = taker.args[0] if taker.args else None
    if isinstance(taker.func, ast.Attribute):
        inner = taker.func.value
    assert inner is not None
    while (
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Attribute)
        and inner.func.attr in ("detach", "cpu", "item")
    ):
        inner = inner.func.value
    return inner


def _iter_numbers(
    text: SourceText, target: ast.Name, search: _Search
) -> Iterator[Edit]:
    """Yield the edits that take the number where a log reads a name."""
    scope = text.around(target, *FUNCTIONS)
    for node in text.nodes:
        if not isinstance(node, ast.Name) or node.id != target.id:
            continue
        is_read = isinstance(node.ctx, ast.Load) and node.lineno > target.lineno
        if not is_read or text.around(node, *FUNCTIONS) is not scope:
            continue
        holder = text.parent(node)
        is_logged = isinstance(holder, ast.AugAssign) or (
            isinstance(holder, ast.Call)
            and node in holder.args
            and get_last_name(holder.func) in LOGS
        )
        if is_logged and node not in search.reads:
            yield Edit(text.span(node).end, ".item()")


LOGS = ("append", "add_scalar", "update", "log")
"""Methods that keep what they are given."""
