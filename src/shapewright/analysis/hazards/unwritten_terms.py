"""Find terms of a loss of tensors that nothing writes: `locations = torch.zeros(steps,
n, 2)` beside `values = torch.zeros(steps, n)`, of which a loop fills `values` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    find_ancestors,
    find_terms,
    iter_losses,
)
from shapewright.findings.codes import TERM_WITHOUT_GRAPH
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
)
from shapewright.record.ops import Op

FILLED = ("zeros", "new_zeros")
UNFILLED = "nothing writes into it"


def find_unwritten_terms(scene: HazardContext) -> Iterator[Finding]:
    """Find terms whose values are the zeros that a tensor began with."""
    seen: set[object] = {None}
    for loss in iter_losses(scene):
        for term in find_terms(scene, loss) if loss.requires_grad else ():
            if not term.factor or term.fact.requires_grad:
                continue
            calls = find_ancestors(scene, term.fact)
            if any(fact.requires_grad for c in calls.values() for fact in c.op.inputs):
                continue
            for call in calls.values():
                if call.name not in FILLED or call.op.span in seen:
                    continue
                place = _find_unwritten(scene, call.op)
                if place is None:
                    continue
                seen.add(call.op.span)
                name, read = place
                message = (
                    f"a term of the loss has no gradient: `{name}` is still the zeros"
                    " that it began with, so the term trains nothing"
                )
                yield scene.finding(
                    TERM_WITHOUT_GRAPH, call.op, message, (read, UNFILLED)
                )


def _find_unwritten(scene: HazardContext, op: Op) -> tuple[str, Op | None] | None:
    """Return the name of a tensor that no line writes into, where one beside it is
    written item by item, and the call that reads it first.
    """
    place = scene.program.node(op.span)
    if place is None:
        return None
    text, node = place
    scope = text.around(node, *FUNCTIONS) or text.tree
    named = {
        target.id: value
        for target, value in iter_assignments(scope, unpacked=True)
        if isinstance(target, ast.Name) and get_called_name(value) in FILLED
    }
    name = next((name for name, value in named.items() if value is node), "")
    written = set(_list_written(scope)) if scope is not None else set()
    if not name or name in written or not named.keys() & written:
        return None
    users = scene.users.get(op.outputs[0].tensor, ())
    return name, users[0].op if users else None


def _list_written(scope: ast.AST) -> Iterator[str]:
    """Yield the names of what a piece of code writes into, changes or hands on."""
    for part in ast.walk(scope):
        owner: ast.AST | None = None
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            owner = part.value
        elif isinstance(part, ast.AugAssign):
            owner = part.target
        elif isinstance(part, ast.Call):
            yield from (arg.id for arg in part.args if isinstance(arg, ast.Name))
            func = part.func
            if isinstance(func, ast.Attribute) and func.attr.endswith("_"):
                owner = func.value
        while isinstance(owner, ast.Subscript | ast.Attribute):
            owner = owner.value
        if isinstance(owner, ast.Name):
            yield owner.id
