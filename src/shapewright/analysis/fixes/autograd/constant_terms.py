"""Edits for a loss that is a new constant in one branch: a zero with a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors.constant_losses import (
    ConstantTerm,
    find_branch,
    find_constant_term,
    is_constant_call,
    is_zero,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names
from shapewright.record.ops import Op


def suggest_graph_of_constant(program: Program, cut: Op) -> Iterator[Fix]:
    """Suggest `pred.sum() * 0` for the zeros of a batch in which there is nothing to
    learn, of what the other branch computes the loss from.
    """
    term = find_constant_term(program, cut)
    if term is None or not is_zero(term.node):
        return
    edits, shown = [], ""
    for node in _iter_zeros(term):
        source = _find_source(program, term, node)
        if not source:
            continue
        new = f"{source}.sum() * 0"
        around = term.text.parent(node)
        is_plain = isinstance(around, ast.Assign | ast.Return | ast.Tuple | ast.IfExp)
        edits.append(Edit(term.text.span(node), new if is_plain else f"({new})"))
        if node is term.node or not shown:
            shown = new
    if edits:
        more = f", and {len(edits) - 1} more" if len(edits) > 1 else ""
        yield Fix("fits", f"`{join_lines(shown)}`{more}", tuple(edits))


def _iter_zeros(term: ConstantTerm) -> Iterator[ast.Call]:
    """Yield the zeros that the branch of a constant makes."""
    side = _get_side(term, term.node)
    for top in side or [term.node]:
        for node in ast.walk(top):
            is_same = find_branch(term.text, node) is term.branch
            if not isinstance(node, ast.Call) or not is_same:
                continue
            if is_constant_call(node) and is_zero(node):
                yield node


def _get_side(term: ConstantTerm, node: ast.AST) -> list[ast.AST]:
    """Return the statements or the expression of the branch that a node stands in."""
    if term.branch is None:
        return []
    for side in (term.branch.body, term.branch.orelse):
        parts: list[ast.AST] = [*side] if isinstance(side, list) else [side]
        if any(part is node for top in parts for part in ast.walk(top)):
            return parts
    return []


def _find_source(program: Program, term: ConstantTerm, node: ast.Call) -> str:
    """Return what the same name is computed from where the constant is not made, if
    that has a gradient; else what anything in the function is.
    """
    text = term.text
    statement = text.statement_of(node)
    targets = collect_names(statement, ast.Store)
    scope = text.around(node, *FUNCTIONS) or text.tree
    if scope is None:
        return ""
    own = {id(part) for top in _get_side(term, node) for part in ast.walk(top)}
    known = _collect_known(text, term, scope)
    regions: list[list[ast.AST]] = [[], []]
    for other in ast.walk(scope):
        if not isinstance(other, ast.Assign | ast.AugAssign) or id(other) in own:
            continue
        if targets & collect_names(other, ast.Store):
            regions[0].append(other.value)
    regions[1].append(scope)
    for region in regions:
        inside = {id(part) for top in region for part in ast.walk(top)} - own
        source = _find_learned(program, text, inside, known)
        if source:
            return source
    return ""


def _collect_known(text: SourceText, term: ConstantTerm, scope: ast.AST) -> set[str]:
    """Return the names that are set above the branch of a constant."""
    line = (term.branch or term.node).lineno
    names = {part.arg for part in ast.walk(scope) if isinstance(part, ast.arg)}
    return names | {
        part.id
        for part in ast.walk(scope)
        if isinstance(part, ast.Name)
        and isinstance(part.ctx, ast.Store)
        and text.statement_of(part).lineno < line
    }


def _find_learned(
    program: Program, text: SourceText, inside: set[int], known: set[str]
) -> str:
    """Return the first known tensor among some expressions that calls of the run read
    and that has a gradient.
    """
    for op in program.trace.ops:
        if op.span is None or op.span.file != text.file:
            continue
        if not any(fact.requires_grad and not fact.is_leaf for fact in op.inputs):
            continue
        places = find_tensor_expressions(program, op)
        for place, fact in zip(places, op.inputs, strict=False):
            if place is None or not fact.requires_grad or id(place[0]) not in inside:
                continue
            if isinstance(place[0], ast.Name) and place[0].id in known:
                return place[0].id
    return ""
