"""A tensor that is made without a factor which the view behind it divides off again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.created_tensors import MAKERS, find_size_nodes
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ELEMENT_COUNT_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names, iter_own_nodes
from shapewright.record.ops import Op

MOST_STEPS = 6
"""Calls between a view and the one that made its tensor."""


def suggest_joined_sizes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the factor of a view for the size in front of it, where the tensor is
    made with the other sizes of the view.

    Example: ``torch.zeros(layers * directions, batch, width)`` for
    ``torch.zeros(layers, batch, width)`` with ``.view(layers, directions, batch,
    width)`` behind it.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    maker = _find_maker(program, op)
    view, built = program.call_at(op.span), None
    if maker is not None:
        built = program.call_at(maker.span)
    if unmet is None or unmet.code != ELEMENT_COUNT_MISMATCH:
        return
    if maker is None or view is None or built is None or view[0] is not built[0]:
        return
    text = view[0]
    rank = len(maker.outputs[0].shape)
    sizes, wanted = (
        find_size_nodes(text, built[1], rank),
        find_size_nodes(text, view[1], rank + 1),
    )
    if sizes is None or wanted is None:
        return
    ours, theirs = ([text.written(n) for n in nodes] for nodes in (sizes, wanted))
    added = (
        n
        for n, word in enumerate(theirs)
        if word not in ours and theirs[:n] + theirs[n + 1 :] == ours
    )
    at = next(added, None)
    factor = _write_in_scope(text, wanted[at], built[1]) if at is not None else ""
    if at is None or not factor:
        return
    place = max(0, at - 1)
    node = sizes[place]
    whole = text.written(node)
    whole = f"({whole})" if isinstance(node, ast.BinOp) else whole
    new = f"{factor} * {whole}" if at == 0 else f"{whole} * {factor}"
    shown = ", ".join([*ours[:place], new, *ours[place + 1 :]])
    called = text.written(built[1].func)
    yield Fix("fits", f"`{called}({shown})`", (Edit(text.span(node), new),))


def _find_maker(program: Program, op: Op) -> Op | None:
    """Return the call that made a tensor of sizes, if nothing but copies lies between
    it and a view.
    """
    fact = op.inputs[0] if op.inputs else None
    for _ in range(MOST_STEPS):
        maker = program.producers.get(fact.tensor) if fact is not None else None
        if maker is None or fact is None:
            return None
        if maker.name.rpartition(".")[2] in MAKERS:
            return maker
        if len(maker.inputs) != 1 or maker.inputs[0].shape != fact.shape:
            return None
        fact = maker.inputs[0]
    return None


def _write_in_scope(text: SourceText, node: ast.expr, place: ast.expr) -> str:
    """Return how a size is written at an earlier place of its function: by its name if
    that is known there, else by what the name stands for.
    """
    scope = text.around(place, *FUNCTIONS)
    if not isinstance(node, ast.Name) or scope is None:
        return "" if isinstance(node, ast.Constant) else text.written(node)
    assigned: dict[str, ast.Assign] = {}
    for statement in iter_own_nodes(scope):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, statement)
    known = assigned.get(node.id)
    if known is None or known.lineno < place.lineno:
        return node.id
    late = {name for name, by in assigned.items() if by.lineno >= place.lineno}
    if collect_names(known.value) & late:
        return ""
    written = text.written(known.value)
    return f"({written})" if isinstance(known.value, ast.BinOp) else written
