"""Scores of attention that a mask of the longest sequence made larger: scores of one
query and one key take the size of any mask, and fit the values no longer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments
from shapewright.record.ops import Fact, Op

PRODUCTS = operators_with("is_product")
MASKING = operators_with("takes_mask") | {"add", "+", "where"}
"""Operators that lay a mask over scores."""
NEAR = 8
"""Ops between the mask and the product with the values."""


def find_broadcast_scores(program: Program, finding: Finding) -> Explanation | None:
    """Return which mask made the scores of one query as large as itself, or None."""
    op = program.op_at(finding.span, finding.module)
    if finding.severity != "error" or op is None:
        return None
    failing = [failure.op for failure in program.failures]
    ops = [program.trace.ops[at] for at in failing]
    refused = next((other for other in ops if other.span == op.span), None)
    if refused is None or refused.name.rpartition(".")[2] not in PRODUCTS:
        return None
    for masking in _iter_masking(program, refused):
        for at, mask in enumerate(masking.inputs):
            scores = next((f for n, f in enumerate(masking.inputs) if n != at), None)
            if scores is None or len(masking.inputs) != 2:
                continue
            if not _is_made_larger(program, scores, mask, masking):
                continue
            return _explain_mask(program, masking, at)
    return None


def _iter_masking(program: Program, refused: Op) -> Iterator[Op]:
    """Yield the calls near a product that may have laid a mask over its weights."""
    for fact in refused.inputs:
        for maker in iter_first_makers(program, fact, NEAR):
            if maker.name.rpartition(".")[2] in MASKING and maker.outputs:
                yield maker


def _is_made_larger(program: Program, scores: Fact, mask: Fact, op: Op) -> bool:
    """Return whether scores of one query and one key took the size of a square mask."""
    size = mask.shape[-1:]
    return (
        scores.ndim >= 2
        and scores.shape[-2:] == (1, 1)
        and mask.ndim >= 2
        and mask.shape[-2:] == (*size, *size)
        and mask.shape[-1] > 1
        and op.outputs[0].shape[-2:] == mask.shape[-2:]
        and any(
            maker.name.rpartition(".")[2] in PRODUCTS
            for maker in iter_first_makers(program, scores, NEAR)
        )
    )


def _explain_mask(program: Program, op: Op, at: int) -> Explanation | None:
    """Return the sentence on a mask that is larger than its scores, with its cut."""
    scores, mask = op.inputs[1 - at], op.inputs[at]
    place = program.node(op.span)
    expressions = find_tensor_expressions(program, op)
    if place is None or expressions[at] is None or op.span is None:
        return None
    text, node = place
    mine, theirs = expressions[at], expressions[1 - at]
    assert mine is not None
    name = join_lines(mine[1])
    message = (
        f"the mask `{name}` is {format_shape(mask)} and the scores"
        f" {format_shape(scores)}: scores of one query and one key are repeated to the"
        f" size of the mask, {format_shape(op.outputs[0])}; cut the mask to their"
        " length"
    )
    related = (Related(op.span, "the mask makes the scores larger here"),)
    fixes = tuple(_suggest_cut(text, node, mine[0], theirs, mask))
    return Explanation(message, related, fixes)


def _suggest_cut(
    text: SourceText, node: ast.AST, written: ast.expr,
    scores: tuple[ast.expr, str] | None, mask: Fact,
) -> Iterator[Fix]:  # fmt: skip
    """Suggest the part of a mask that is as long as the sequence: `mask[:T, :T]`."""
    base = _find_base(written)
    if base is None:
        return
    length = _find_length(text, node)
    sizes = (f":{length}", f":{length}")
    if not length:
        if scores is None or not isinstance(scores[0], ast.Name):
            return
        sizes = (f":{scores[1]}.size(-2)", f":{scores[1]}.size(-1)")
    cut = ", ".join([":"] * (mask.ndim - 2) + [*sizes])
    edit = Edit(text.span(base).end, f"[{cut}]")
    yield Fix("fits", f"`{join_lines(text.written(base))}[{cut}]`", (edit,))


def _find_base(node: ast.expr) -> ast.expr | None:
    """Return the mask itself of `mask == 0`, `~mask` or `mask.bool()`."""
    if isinstance(node, ast.Compare):
        return _find_base(node.left)
    if isinstance(node, ast.UnaryOp):
        return _find_base(node.operand)
    if isinstance(node, ast.Call) and not node.args:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        return _find_base(owner) if owner is not None else None
    return node if isinstance(node, ast.Name | ast.Attribute) else None


def _find_length(text: SourceText, node: ast.AST) -> str:
    """Return what a function calls the steps of its input, or "" where it does not:
    `T` of `B, T, C = x.shape` or of `T = x.size(1)`.
    """
    scope = text.around(node, *FUNCTIONS)
    if not isinstance(scope, ast.FunctionDef):
        return ""
    parameters = {argument.arg for argument in scope.args.args}
    lengths = []
    for target, value in iter_assignments(scope):
        if target.lineno >= getattr(node, "lineno", 0):
            continue
        written = join_lines(text.written(value))
        owner = written.partition(".")[0]
        if owner not in parameters:
            continue
        rest = written[len(owner) :]
        if rest in (".shape", ".size()") and isinstance(target, ast.Tuple):
            parts = target.elts
            named = len(parts) in (2, 3) and all(isinstance(p, ast.Name) for p in parts)
            if named:
                lengths.append(text.written(parts[1]))
        elif rest in (".shape[1]", ".size(1)") and isinstance(target, ast.Name):
            lengths.append(target.id)
    names = {*lengths} - {"_"}
    return names.pop() if len(names) == 1 else ""
