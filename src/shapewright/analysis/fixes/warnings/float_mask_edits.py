"""Edits that make masks of truths of masks of numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.hidden_choices import find_written_mask
from shapewright.analysis.older_programs import cut_argument
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name

CASTS = operators_with("keeps_elements") | {"to"}
FILLED = ("zeros", "ones")
TIGHT = ast.Name | ast.Call | ast.Attribute | ast.Subscript
OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=",
    ast.LtE: ">",
}  # fmt: skip


def suggest_mask_of_truths(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the truths that a mask of numbers was made of."""
    hides = "to be hidden" in finding.message
    is_known = hides or "to be seen" in finding.message
    words = [related.message for related in finding.related]
    place = program.node(finding.related[0].span)
    if any("added to" in word for word in words):
        if isinstance(node, ast.BinOp):
            yield from _suggest_fill(text, node, hides)
        return
    shows = any("key is seen" in word for word in words)
    is_padding = "the padding mask" in finding.message
    is_same = not is_known or hides != shows
    where, maker = place if place is not None else (text, None)
    yield from _suggest_truths_for_index(finding, where, maker)
    if isinstance(maker, ast.expr):
        for new in _iter_truths(where, maker, is_same):
            shown = new
            if isinstance(
                where.parent(maker), ast.Attribute | ast.Subscript | ast.BinOp
            ):
                new = new if new.endswith(")") else f"({new})"
            yield Fix("fits", f"`{join_lines(shown)}`", (Edit(where.span(maker), new),))
    for word in node.keywords if isinstance(node, ast.Call) else ():
        name = word.arg or ""
        if "mask" in name and ("padding" in name) == is_padding:
            new = _write_truths(text, word.value, is_same)
            fix = Fix(
                "fits", f"`{word.arg}={new}`", (Edit(text.span(word.value), new),)
            )
            yield fix


def _suggest_truths_for_index(
    finding: Finding, text: SourceText, maker: ast.AST | None
) -> Iterator[Fix]:
    """Suggest `dtype=torch.bool` where the numbers of an index are made."""
    if "takes for rows" not in finding.message or not isinstance(maker, ast.Call):
        return
    for word in maker.keywords:
        if word.arg == "dtype":
            edit = Edit(text.span(word.value), "torch.bool")
            yield Fix("fits", "`dtype=torch.bool`", (edit,))


def _iter_truths(text: SourceText, node: ast.expr, is_same: bool) -> Iterator[str]:
    """Yield how the truths of a mask of numbers may be written, or their opposite."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if get_called_name(node) in CASTS:
            if is_same:
                yield text.written(owner)
            else:
                yield from _iter_opposites(text, owner)
            if not isinstance(owner, ast.Compare | ast.UnaryOp):
                yield _write_truths(text, owner, is_same)
            return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield _write_truths(text, node.right, not is_same)
        return
    if get_called_name(node) in FILLED and isinstance(node, ast.Call):
        if is_same and all(word.arg != "dtype" for word in node.keywords):
            yield f"{text.written(node)[:-1]}, dtype=torch.bool)"
        return
    yield _write_truths(text, node, is_same)


def _iter_opposites(text: SourceText, node: ast.expr) -> Iterator[str]:
    """Yield how the opposite of some truths may be written."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield text.written(node.operand)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = OPPOSITES.get(type(node.ops[0]))
        if sign is not None:
            left, right = text.written(node.left), text.written(node.comparators[0])
            yield f"{left} {sign} {right}"
    elif isinstance(node, TIGHT):
        yield f"~{text.written(node)}"


def _write_truths(text: SourceText, node: ast.expr, is_same: bool) -> str:
    """Write where numbers are 1, or with `is_same` false, where they are 0."""
    written = text.written(node)
    written = written if isinstance(node, TIGHT) else f"({written})"
    return f"{written}.bool()" if is_same else f"{written} == 0"


def _suggest_fill(text: SourceText, node: ast.BinOp, hides: bool) -> Iterator[Fix]:
    """Suggest `scores.masked_fill(mask == 0, float("-inf"))` for `scores + mask`."""
    for scores, mask in ((node.left, node.right), (node.right, node.left)):
        written = text.written(scores)
        written = written if isinstance(scores, TIGHT) else f"({written})"
        truths = _write_truths(text, mask, hides)
        new = f'{written}.masked_fill({truths}, float("-inf"))'
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_plain_mask(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a call without `is_causal=True` for a mask that is not causal."""
    if "`is_causal=True` tells" not in finding.message:
        return
    for word in node.keywords if isinstance(node, ast.Call) else ():
        if word.arg == "is_causal" and isinstance(node, ast.Call):
            edit = cut_argument(text, node, word)
            yield Fix("fits", "without `is_causal=True`", (edit,))


def _suggest_opposite_term(text: SourceText, node: ast.BinOp) -> Iterator[Fix]:
    """Suggest `(1.0 - mask) * -1e9` for a mask times a large negative number."""
    for part in ast.walk(node):
        if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Mult):
            continue
        for side, number in ((part.left, part.right), (part.right, part.left)):
            if isinstance(number, ast.UnaryOp) and isinstance(number.op, ast.USub):
                new = f"(1.0 - {text.written(side)})"
                is_turned = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub)
                if isinstance(side, ast.BinOp) and is_turned:
                    new = text.written(side.right)
                shown = f"`{join_lines(new)} * {text.written(number)}`"
                yield Fix("fits", shown, (Edit(text.span(side), new),))
                return


def suggest_opposite_mask(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `~legal` for a mask that is true for what may be chosen, or is no
    padding.
    """
    words = ("hides what is true", "true where the words are")
    is_told = any(part in finding.message for part in words)
    if "true where the padding is" in finding.message and isinstance(node, ast.Call):
        for word in node.keywords:
            value = word.value
            is_turned = isinstance(value, ast.UnaryOp) and isinstance(
                value.op, ast.Invert
            )
            new = f"~{text.written(value)}"
            if isinstance(value, ast.UnaryOp) and is_turned:
                new = text.written(value.operand)
            if word.arg == "attn_mask":
                shown = f"`attn_mask={join_lines(new)}`"
                yield Fix("fits", shown, (Edit(text.span(value), new),))
        return
    if is_told and isinstance(node, ast.BinOp):
        yield from _suggest_opposite_term(text, node)
        return
    mask = find_written_mask(text, node) if isinstance(node, ast.Call) else None
    op = program.op_at(finding.span)
    if not is_told or mask is None or op is None or len(op.inputs) < 2:
        return
    written = text.written(mask)
    new = f"~{written}" if op.inputs[1].dtype == "bool" else f"{written} == 0"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(mask), new),))
