"""Find orders that are taken for ranks: one `argsort` says which item stands at each
place, not at which place each item stands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import ORDER_AS_RANK, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)

KEEPING = operators_with("keeps_elements", "is_view", "regroups_dims", "moves_device")
SAME = KEEPING | {"numpy", "astype"}
MEANS = operators_with("reduces_dims")
ORDERS = operators_with("sorts_elements") | {"randperm", "permutation"}
MODULES = ("torch", "np", "numpy")
STEPS = 6


@dataclass(frozen=True, slots=True)
class _TakenOrder:
    """An `argsort`, and where its elements are taken for ranks: at the name that holds
    them, or at the `lookup` of an item's place in it, if it is an order elsewhere.
    """

    sort: ast.Call
    name: str
    lookup: ast.expr | None


@looks_for(ORDER_AS_RANK)
def find_orders_as_ranks(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `ranks = scores.argsort()` whose elements are used as numbers."""
    for text in scene.program.own_texts():
        for taken in iter_taken_orders(text):
            node = taken.lookup or taken.sort
            yield build_finding(
                ORDER_AS_RANK,
                f"`{taken.name}` is taken for ranks, but `{text.line_of(taken.sort)}`"
                " says which item stands at each place: the rank of an item is the"
                " `argsort` of that",
                text.span(node),
                *([(text.span(taken.sort), "the order is made here")]
                  if taken.lookup is not None else []),
            )  # fmt: skip


def iter_taken_orders(text: SourceText) -> Iterator[_TakenOrder]:
    """Yield the orders of a file that are taken for ranks."""
    seen = set()
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Name) or "rank" not in target.id.lower():
            continue
        if not _is_number(text, target, node):
            continue
        sort, lookup = _find_order(text, node.value)
        if sort is None or sort in seen or _is_permutation(text, sort):
            continue
        seen.add(sort)
        order = _get_name(text, sort)
        is_shared = lookup is not None and "rank" not in order.lower()
        yield _TakenOrder(sort, target.id, lookup if is_shared else None)


def _find_order(
    text: SourceText, value: ast.expr
) -> tuple[ast.Call | None, ast.expr | None]:
    """Return the `argsort` whose elements a value holds, and the lookup in it: `order`
    of `order.gather(1, items) + 1`.
    """
    lookup: ast.expr | None = None
    for _ in range(STEPS):
        called = get_called_name(value)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
            value = value.left
        elif isinstance(value, ast.Name):
            known = find_last_value(text, value, value.lineno)
            if known is None:
                return None, None
            if lookup is not None:
                lookup = value
            value = known
        elif isinstance(value, ast.Subscript):
            if lookup is not None or not _is_of_items(text, value.slice):
                return None, None
            lookup = value = value.value
        elif not isinstance(value, ast.Call):
            return None, None
        elif called == "argsort":
            return value, lookup
        elif called == "gather" and lookup is None:
            owner = _get_argument(value)
            if owner is None:
                return None, None
            lookup = value = owner
        elif called in SAME and isinstance(value.func, ast.Attribute):
            value = value.func.value
        else:
            return None, None
    return None, None


def _get_argument(call: ast.Call) -> ast.expr | None:
    """Return `x` of `x.argsort(1)` and of `torch.argsort(x, 1)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if owner is not None and get_dotted_name(owner) not in MODULES:
        return owner
    return call.args[0] if call.args else None


def _is_of_items(text: SourceText, index: ast.expr) -> bool:
    """Return whether an index looks items up by their numbers: no slice, no number."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any(isinstance(part, ast.Slice) for part in parts):
        return False
    return any(
        isinstance(part, ast.Name | ast.Attribute | ast.Subscript) for part in parts
    ) and not isinstance(index, ast.Compare)


def _is_permutation(text: SourceText, sort: ast.Call) -> bool:
    """Return whether what is sorted is an order itself, so that ranks come out."""
    value = _get_argument(sort)
    for _ in range(STEPS):
        if value is None:
            return False
        if isinstance(value, ast.Name):
            value = find_last_value(text, value, value.lineno)
        elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            value = value.value  # `scores.sort()[1]`
        elif (
            isinstance(value, ast.Attribute) and value.attr == "indices"
        ) or get_called_name(value) in ORDERS:
            return True
        elif isinstance(value, ast.Call) and get_called_name(value) in SAME:
            value = _get_argument(value)
        else:
            return False
    return False


def _get_name(text: SourceText, sort: ast.Call) -> str:
    """Return the name that an `argsort` is given."""
    statement = text.statement_of(sort)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def _is_number(text: SourceText, name: ast.Name, node: ast.Assign) -> bool:
    """Return whether what an assignment names is used as numbers: in arithmetic, in a
    comparison by size, in a mean, as floats.
    """
    scope = text.around(node, *FUNCTIONS)
    if _has_arithmetic(node.value):
        return True
    for use in text.nodes:
        if not isinstance(use, ast.Name) or use.id != name.id or use is name:
            continue
        if use.lineno < node.lineno or text.around(use, *FUNCTIONS) is not scope:
            continue
        if isinstance(use.ctx, ast.Load) and _is_used_as_number(text, use):
            return True
    return False


def _has_arithmetic(value: ast.expr) -> bool:
    """Return whether a value is cast to floats, or one is added to it."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.right, ast.Constant)
    return get_called_name(value) in ("float", "double", "astype")


def _is_used_as_number(text: SourceText, use: ast.Name) -> bool:
    """Return whether a use takes a name's elements as numbers."""
    parent = text.parent(use)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Add | ast.Sub | ast.Div | ast.Mult)
    if isinstance(parent, ast.Compare):
        return all(
            isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in parent.ops
        )
    if isinstance(parent, ast.Attribute):
        return parent.attr in MEANS | {"float", "double", "astype"}
    return isinstance(parent, ast.Call) and get_called_name(parent) in MEANS
