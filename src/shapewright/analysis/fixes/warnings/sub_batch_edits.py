"""Edits of mean losses of parts of a batch, whose gradients a step adds up: each is to
count as much as its share of the samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.undivided_losses import find_loss
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_shape_owner,
    iter_assignments,
)


def suggest_share_of_batch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the loss of a part of a batch divided by the samples of the whole batch,
    or multiplied by its share of them.
    """
    loss = find_loss(node) if isinstance(node, ast.Call) else None
    place = program.node(finding.related[0].span) if finding.related else None
    if loss is None or place is None or place[0] is not text:
        return
    if text.around(place[1], *FUNCTIONS) is not text.around(node, *FUNCTIONS):
        return
    batch = _get_batch(place[1])
    part = _find_part(text, place[1])
    if batch is None or part is None:
        return
    owner = _find_counted_part(text, loss, part)
    if owner is not None:
        new = text.written(batch)
        shown = f"divided by the samples of `{new}`, not of `{part}`"
        yield Fix("fits", shown, (Edit(text.span(owner), new),))
        return
    value = f"{loss.id} * len({part}) / len({text.written(batch)})"
    value = f"({value})" if isinstance(text.parent(loss), ast.Attribute) else value
    yield Fix("fits", f"`{value}`", (Edit(text.span(loss), value),))


def _get_batch(cut: ast.AST) -> ast.expr | None:
    """Return what is cut by `x[i : i + n]`, `x.split(n)` or `torch.split(x, n)`."""
    if isinstance(cut, ast.Subscript):
        return cut.value
    if not isinstance(cut, ast.Call) or not isinstance(cut.func, ast.Attribute):
        return None
    owner = cut.func.value
    is_library = isinstance(owner, ast.Name) and owner.id == "torch"
    return owner if not is_library else cut.args[0] if cut.args else None


def _find_part(text: SourceText, cut: ast.AST) -> str | None:
    """Return the name of a part where it is cut, or the slice itself."""
    parent = text.parent(cut)
    loop = text.around(cut, ast.For)
    if isinstance(cut, ast.Subscript):
        statement = text.statement_of(cut)
        for name, value in iter_assignments(statement, unpacked=True):
            if value is cut and isinstance(name, ast.Name):
                return name.id
        return text.written(cut)
    if loop is None:
        return None
    target: ast.expr = loop.target
    if isinstance(parent, ast.Call) and get_called_name(parent) == "zip":
        at = parent.args.index(cut) if cut in parent.args else -1
        is_paired = loop.iter is parent and isinstance(target, ast.Tuple)
        if not isinstance(target, ast.Tuple) or not is_paired or at < 0:
            return None
        target = target.elts[at]
    elif loop.iter is not cut:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _find_counted_part(text: SourceText, loss: ast.Name, part: str) -> ast.expr | None:
    """Return the part whose number of samples divides a loss: `part` of `n =
    len(part)`, or None.
    """
    function = text.around(loss, *FUNCTIONS, ast.Module)
    values = {
        target.id: value
        for target, value in iter_assignments(function, loss.lineno)
        if isinstance(target, ast.Name)
    }
    quotient = values.get(loss.id)
    if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
        return None
    count = quotient.right
    if isinstance(count, ast.Name):
        count = values.get(count.id, count)
    sizes = count.value if isinstance(count, ast.Subscript) else count
    owner = get_shape_owner(sizes)
    if get_called_name(count) == "len" and isinstance(count, ast.Call) and count.args:
        owner = count.args[0]
    return owner if owner is not None and ast.unparse(owner) == part else None
