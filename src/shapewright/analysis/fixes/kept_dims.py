"""Reductions that remove a dim which is needed behind them, or that have none to run
along.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    DIM_OUT_OF_RANGE,
    EXPAND_MISMATCH,
    JOINED_SIZES_DIFFER,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span, apply_edits
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

REDUCING = operators_with("reduces_dims", "returns_indices")
MOST_CHAINED = 4
"""Reductions of a chain."""
OF_OPERANDS = frozenset({
    BATCH_DIM_MISMATCH, BROADCAST_MISMATCH, EXPAND_MISMATCH, JOINED_SIZES_DIFFER,
})  # fmt: skip
"""Codes of calls whose operands do not line up."""
MOST_BETWEEN = 6
"""Calls between a reduction and the one that fails."""
MOST_LATER = 12
"""Calls behind a failure among which the use of its result is looked for."""


def suggest_kept_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `keepdim=True` for all reductions of a chain whose result meets the
    tensor that is reduced, of which it then has every dim.

    Example: ``x.mean(1, keepdim=True).mean(2, keepdim=True)`` for ``x.mean(1).mean(2)``
    with ``.expand_as(x)`` behind it.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != DIM_OUT_OF_RANGE:
        return
    op = program.trace.ops[failure.op]
    chain = _list_chain(program, op)
    if len(chain) < 2 or not _is_used_with(program, op, chain[-1].inputs[0]):
        return
    edits: list[Edit] = []
    texts: list[SourceText] = []
    for link in chain:
        text_and_call = program.call_at(link.span)
        if text_and_call is None:
            return
        text, call = text_and_call
        if any(word.arg == "keepdim" for word in call.keywords):
            continue
        span = text.span(call)
        end = span.end_line, span.end_column - 1
        edits.append(Edit(Span(span.file, *end, *end), ", keepdim=True"))
        texts.append(text)
    if edits:
        message = _show_line(texts[0], op.span, edits)
        yield Fix("fits", message, tuple(edits))


def suggest_kept_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `keepdim=True` for a reduction whose result meets the tensor that was
    reduced, or one of its shape.

    Example: ``(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)``.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_OPERANDS:
        return
    if len(op.inputs) != 2 and unmet.code != EXPAND_MISMATCH:
        return
    pairs = [(op.inputs[0], op.inputs[-1]), (op.inputs[-1], op.inputs[0])]
    for fact, other in pairs:
        several = _list_reductions(program, fact)
        if len(several) > 1 and len(other.shape) == len(several[0].inputs[0].shape):
            yield from _suggest_several(program, several)
            continue
        for _ in range(MOST_BETWEEN):
            maker = program.producers.get(fact.tensor)
            if maker is None or not maker.inputs:
                break
            before = maker.inputs[0].shape
            reduces = maker.name.rpartition(".")[2] in REDUCING
            removes = len(fact.shape) == len(before) - 1
            expands = unmet.code == EXPAND_MISMATCH
            if reduces and removes and (expands or len(other.shape) == len(before)):
                yield from _add_keepdim(program, maker)
            if before != fact.shape:
                break
            fact = maker.inputs[0]


def suggest_only_dim(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `dim=0` for vectors, where a call or the constructor of its layer leaves
    out the dim.

    Example: ``F.cosine_similarity(a, b, dim=0)`` for ``F.cosine_similarity(a, b)``.
    """
    op, place = program.trace.ops[failure.op], _find_call_without_dim(program, failure)
    if place is not None and all(len(fact.shape) == 1 for fact in op.inputs):
        yield with_keyword(*place, "dim=0")


def describe_default_dim(program: Program, failure: Failure) -> Related | None:
    """Return the call that takes a dim by default which is not there."""
    place, unmet = _find_call_without_dim(program, failure), failure.unmet
    if place is None or unmet is None:
        return None
    text, call = place
    return Related(text.span(call), f"`dim` is {unmet.has} where none is given")


def _find_call_without_dim(
    program: Program, failure: Failure
) -> tuple[SourceText, ast.Call] | None:
    """Return the call, or that of its layer's constructor, which leaves out a dim."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != DIM_OUT_OF_RANGE or not op.inputs:
        return None
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    place = program.call_at(built.span if built is not None else op.span)
    if place is None:
        return None
    call = place[1]
    operands = len(op.inputs) if built is None else 0
    if built is None and op.name.startswith("Tensor."):
        operands -= 1
    is_given = any(word.arg in ("dim", "axis", None) for word in call.keywords)
    return None if is_given or len(call.args) > operands else place


def _list_reductions(program: Program, fact: Fact) -> list[Op]:
    """Return the reductions of which a tensor is computed element by element: both sums
    of `(x * mask).sum(1) / mask.sum(1)`.
    """
    waiting, reductions = [fact], dict[int, Op]()
    for _ in range(MOST_BETWEEN):
        if not waiting:
            break
        now = waiting.pop(0)
        maker = program.producers.get(now.tensor)
        if maker is None or not maker.inputs:
            continue
        is_reduction = maker.name.rpartition(".")[2] in REDUCING
        if is_reduction and len(now.shape) == len(maker.inputs[0].shape) - 1:
            reductions[maker.index] = maker
        else:
            waiting += [part for part in maker.inputs if part.shape == now.shape]
    return list(reductions.values())


def _suggest_several(program: Program, several: list[Op]) -> Iterator[Fix]:
    """Yield `keepdim=True` for all of some reductions."""
    fixes = [fix for op in several for fix in _add_keepdim(program, op)]
    edits = {edit.span: edit for fix in fixes for edit in fix.edits}
    if len(fixes) == len(several) > 1:
        text_and_call = program.call_at(several[0].span)
        shown = fixes[0].message
        if text_and_call is not None:
            statement = text_and_call[0].statement_of(text_and_call[1])
            inside = list(edits.values())
            shown = _show_statement(text_and_call[0], statement, inside)
        yield Fix("fits", shown, tuple(edits.values()))


def _show_statement(text: SourceText, statement: ast.stmt, edits: list[Edit]) -> str:
    """Return what is shown of edits: the statement as it is after them, if it holds
    them all.
    """
    value = getattr(statement, "value", None)
    span = text.span(value) if isinstance(value, ast.expr) else None
    if span is None or any(edit.span.line != span.line for edit in edits):
        return f"`keepdim=True` in {len(edits)} reductions"
    return _show_line(text, span, edits)


def _add_keepdim(program: Program, op: Op) -> Iterator[Fix]:
    """Yield a reduction with `keepdim=True`."""
    text_and_call = program.call_at(op.span)
    if text_and_call is None or get_called_name(text_and_call[1]) not in REDUCING:
        return
    text, call = text_and_call
    for word in call.keywords:
        if word.arg == "keepdim":
            edit = Edit(text.span(word.value), "True")
            yield Fix("fits", "`keepdim=True`", (edit,))
            return
    if call.args or call.keywords:
        yield with_keyword(text, call, "keepdim=True")


def _show_line(text: SourceText, span: Span | None, edits: list[Edit]) -> str:
    """Return what is shown of the edits: the failing call as it is after them."""
    node = text.node(span) if span is not None else None
    if node is None:
        return "`keepdim=True`"
    inside = [edit for edit in edits if edit.span.line == text.span(node).line]
    whole = apply_edits(text.text, [(edit.span, edit.text) for edit in inside])
    size = len(text.written(node)) + sum(len(edit.text) for edit in inside)
    row = whole.split("\n")[node.lineno - 1]
    shown = row[text.span(node).column - 1 :][:size]
    return f"`{join_lines(shown)}`" if len(inside) == len(edits) else "`keepdim=True`"


def _list_chain(program: Program, op: Op) -> list[Op]:
    """Return a failing reduction and those whose results it was given, the last of
    them the first that ran.
    """
    chain: list[Op] = []
    link: Op | None = op
    while link is not None and len(chain) < MOST_CHAINED:
        node = program.node(link.span)
        reduces = link.name.rpartition(".")[2] in REDUCING and len(link.inputs) == 1
        if not reduces or node is None or not isinstance(node[1], ast.Call):
            break
        if get_called_name(node[1]) not in REDUCING:
            break
        chain.append(link)
        link = program.producers.get(link.inputs[0].tensor)
    return chain


def _is_used_with(program: Program, op: Op, whole: Fact) -> bool:
    """Return whether what a call returns meets the tensor of the chain, or one of its
    shape, soon behind it.
    """
    results = {fact.tensor for fact in op.outputs}
    for later in program.trace.ops[op.index + 1 : op.index + 1 + MOST_LATER]:
        if not any(fact.tensor in results for fact in later.inputs):
            continue
        name = later.name.rpartition(".")[2]
        expands = name in ("expand", "expand_as") or len(later.inputs) > 1
        others = [fact for fact in later.inputs if fact.tensor not in results]
        if expands and any(fact.shape == whole.shape for fact in others):
            return True
        results |= {fact.tensor for fact in later.outputs}
    return False
