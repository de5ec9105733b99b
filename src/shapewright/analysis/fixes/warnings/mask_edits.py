"""Edits of masked losses that are divided by the count of what the mask leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import TIGHT
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name


def suggest_counted_elements(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to keep the elements that are counted, and to count those that are kept;
    a mask of padding tells what to leave out, so that the count is changed first.
    """
    if "on the other side" not in finding.message or not finding.related:
        return
    place = program.call_at(finding.related[0].span)
    kept = _find_mask(node)
    counted = None
    if place is not None and get_called_name(place[1]) == "sum":
        owner = get_receiver(place[1])
        is_method = owner is not None and place[0].written(owner) != "torch"
        counted = owner if is_method else next(iter(place[1].args), None)
    fixes = []
    if kept is not None and isinstance(node, ast.expr):
        new = _write_inverted(text, kept, is_tight=False)
        shown = text.written(node).replace(text.written(kept), new, 1)
        edit = Edit(text.span(kept), new)
        fixes.append(Fix("fits", f"`{join_lines(shown)}`", (edit,)))
    if place is not None and counted is not None:
        is_tight = isinstance(counted, TIGHT) and counted is get_receiver(place[1])
        new = _write_inverted(place[0], counted, is_tight=is_tight)
        shown = place[0].written(place[1]).replace(place[0].written(counted), new, 1)
        edit = Edit(place[0].span(counted), new)
        fixes.append(Fix("fits", f"`{join_lines(shown)}`", (edit,)))
    is_padding = kept is not None and "pad" in text.written(kept).lower()
    yield from fixes[::-1] if is_padding else fixes


def _find_mask(node: ast.AST) -> ast.expr | None:
    """Return the mask of `loss.masked_fill(mask, 0)`, or None."""
    if not isinstance(node, ast.Call) or "masked_fill" not in get_called_name(node):
        return None
    owner = get_receiver(node)
    at = 1 if isinstance(owner, ast.Name) and owner.id == "torch" else 0
    words = {word.arg: word.value for word in node.keywords}
    return words.get("mask", node.args[at] if len(node.args) > at else None)


def _write_inverted(text: SourceText, mask: ast.expr, *, is_tight: bool) -> str:
    """Return the other elements of a mask in words: `~mask`, or `mask` for `~mask`."""
    owner = get_receiver(mask) if isinstance(mask, ast.Call) else None
    if isinstance(mask, ast.Call) and owner is not None and not mask.args:
        name = get_called_name(mask)
        if name in ("float", "long", "int", "double"):
            return f"{_write_inverted(text, owner, is_tight=True)}.{name}()"
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        return text.written(mask.operand)
    if isinstance(mask, ast.Compare) and isinstance(mask.ops[0], ast.Eq | ast.NotEq):
        sign = "!=" if isinstance(mask.ops[0], ast.Eq) else "=="
        new = f"{text.written(mask.left)} {sign} {text.written(mask.comparators[0])}"
        return f"({new})" if is_tight else new
    written = text.written(mask)
    new = f"~{written}" if isinstance(mask, TIGHT) else f"~({written})"
    return f"({new})" if is_tight else new
