"""Find discounted returns in another order than their steps: summed from the last step
and appended, or summed from the first step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.terminal_states import DISCOUNT
from shapewright.findings.codes import RETURN_ORDER, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_line,
    get_last_name,
)

REWARDS = re.compile(r"(\w*_)?(rewards?|rews?|rs)(_\w*)?", re.IGNORECASE)
TURNING = frozenset({"reversed", "flip", "flipud", "reverse", "appendleft"})
"""Functions and methods that turn an order."""
LARGEST = 0.5
"""What a discount is above, where it is a number."""


@looks_for(RETURN_ORDER)
def find_turned_returns(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops over rewards whose discounted sums are kept in the wrong order."""
    for text in scene.program.own_texts():
        loops = [node for node in text.nodes if isinstance(node, ast.For)]
        for loop in loops if "backward" in text.text else ():
            total = _find_total(loop)
            kept = _find_kept(loop, total) if total is not None else None
            if kept is None:
                continue
            method = get_called_name(kept)
            if _is_from_end(loop.iter):
                if method == "append" and not _is_turned_later(text, loop):
                    yield build_finding(
                        RETURN_ORDER,
                        f"the returns are summed from the last step and kept in that"
                        f" order: the first of `{_write_owner(kept)}` is that of the"
                        " last step",
                        text.span(kept),
                        (text.span(loop.iter), "from the last reward to the first"),
                    )
            elif REWARDS.fullmatch(get_last_name(loop.iter)):
                yield build_finding(
                    RETURN_ORDER,
                    f"`{total}` sums the rewards from the first step on: a return"
                    " counts what comes before its action, not what comes after",
                    text.span(loop.iter),
                    (text.span(kept), "it is kept as the return of this step"),
                )


def _find_total(loop: ast.For) -> str | None:
    """Return the name of the discounted sum of a loop: `R` of `R = r + gamma * R`."""
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp):
            continue
        sides = (value.left, value.right) if isinstance(value.op, ast.Add) else ()
        for side, other in zip(sides, sides[::-1], strict=True):
            product = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
            if not product or target.id not in collect_names(side):
                continue
            is_own = bool(collect_names(other) & collect_names(loop.target, ast.Store))
            if is_own and isinstance(side, ast.BinOp) and _has_discount(side):
                return target.id
    return None


def _has_discount(product: ast.BinOp) -> bool:
    """Return whether one side of a product is a discount."""
    for side in (product.left, product.right):
        if isinstance(side, ast.Constant) and isinstance(side.value, float):
            return LARGEST < side.value <= 1
        if DISCOUNT.search(ast.unparse(side)):
            return True
    return False


def _find_kept(loop: ast.For, total: str) -> ast.Call | None:
    """Return the call that keeps a sum in each turn: `returns.append(R)`."""
    for statement in loop.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not call.args:
            continue
        last = call.args[-1]
        is_kept = isinstance(last, ast.Name) and last.id == total
        if is_kept and get_called_name(call) in ("append", "insert"):
            return call
    return None


def _write_owner(call: ast.Call) -> str:
    owner = get_receiver(call)
    return ast.unparse(owner) if owner is not None else ""


def _is_from_end(iterated: ast.expr) -> bool:
    """Return whether a loop goes over rewards from the last one to the first."""
    return any(_is_turn(node) for node in ast.walk(iterated))


def _is_turn(node: ast.AST) -> bool:
    """Return whether an expression turns an order: `reversed(x)`, `x[::-1]`."""
    if isinstance(node, ast.Slice) and node.step is not None:
        return ast.unparse(node.step).startswith("-")
    return isinstance(node, ast.Call) and get_called_name(node) in TURNING


def _is_turned_later(text: SourceText, loop: ast.For) -> bool:
    """Return whether anything in the function of a loop, behind it or in what calls it,
    turns an order.
    """
    is_inside = text.around(loop, *FUNCTIONS) is not None
    last, inside = get_last_line(loop), set(ast.walk(loop))
    return any(
        _is_turn(node)
        for node in text.nodes
        if node not in inside
        if is_inside or getattr(node, "lineno", last + 1) > last
    )
