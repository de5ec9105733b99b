"""A name that is assigned twice, the second time from another name by mistake, or with
what is pooled of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.fixes.suspect_lines import iter_named_facts
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import collect_names
from shapewright.record.ops import Fact


def suggest_unread_name(program: Program, span: Span | None) -> Iterator[Fix]:
    """Suggest `b = f(b)` for `b = f(a)` where the line before assigns `b`, which
    nothing reads.
    """
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return
    for node in text.near(span.line):
        statement = text.statement_of(node)
        if isinstance(statement, ast.Assign):
            yield from _suggest_for(text, statement)
        return


def _suggest_for(text: SourceText, statement: ast.Assign) -> Iterator[Fix]:
    """Suggest the name that a statement writes in place of one that it reads."""
    target, value = statement.targets[0], statement.value
    block = find_block(text, statement)
    at = block.index(statement) if statement in block else 0
    if not isinstance(target, ast.Name) or not at or not isinstance(value, ast.Call):
        return
    before = block[at - 1]
    if not isinstance(before, ast.Assign) or target.id in collect_names(value):
        return
    written = {name for node in before.targets for name in collect_names(node)}
    if target.id not in written:
        return
    read = _find_first_name(value)
    if read is not None:
        edit = Edit(text.span(read), target.id)
        yield Fix("fits", f"`{target.id}` for `{read.id}`", (edit,))


def _find_first_name(value: ast.Call) -> ast.Name | None:
    """Return the name that a call works on: the first argument of a function, or the
    tensor at the beginning of a chain of methods, `att` of `att.mT.view(b, -1)`.
    """
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    for argument in (call.args[0] for call in calls if call.args):
        if isinstance(argument, ast.Name) and not _is_size_of_method(calls, argument):
            return argument
    return _get_tensor(value)


def _get_tensor(chain: ast.expr) -> ast.Name | None:
    """Return the name of the tensor at the beginning of a chain of methods."""
    while isinstance(chain, ast.Call | ast.Attribute):
        chain = chain.func if isinstance(chain, ast.Call) else chain.value
    return chain if isinstance(chain, ast.Name) and chain.id not in MODULES else None


MODULES = frozenset({"torch", "F", "nn", "self", "np", "einops"})
"""Names at the beginning of a chain that are no tensors."""


def _is_size_of_method(calls: list[ast.Call], argument: ast.Name) -> bool:
    """Return whether a name is a size that a method gets, as in `x.view(batch, -1)`."""
    for call in calls:
        if call.args[:1] == [argument] and isinstance(call.func, ast.Attribute):
            return _get_tensor(call.func.value) is not None
    return False


# -- what is pooled for a readout and handed to the next layer ------------------------


def suggest_kept_features(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest another name for `p = pool(p, batch)` where the next layer gets `p` with
    the same other arguments as the layer before, `conv2(p, edges)` behind
    `p = conv1(x, edges)`, and something else reads what was pooled.
    """
    for frame in program.trace.ops[failure.op].frames:
        place = program.call_at(frame.span)
        if place is None:
            continue
        text, call = place
        statement = text.statement_of(call)
        block = find_block(text, statement) if statement is not None else []
        pairs = list(_iter_overwritten(block))
        renamed = [
            (pooled, readers)
            for pair in pairs
            for pooled, readers in [(pair[1], _list_other_reads(block, *pair))]
            if readers
        ]
        failing = {
            pooled.targets[0].id
            for pooled, _ in renamed
            if isinstance(pooled.targets[0], ast.Name)
        }
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Name) and first.id in failing:
            yield _rename_pooled(text, renamed)
            return


def _iter_overwritten(block: list[ast.stmt]) -> Iterator[tuple[ast.Assign, ast.Assign]]:
    """Yield pairs of statements of a block, `p = layer(x, edges)` and, next to it,
    `p = pool(p, batch)`.
    """
    for first, second in pairwise(block):
        if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
            continue
        old, new = first.targets[0], second.targets[0]
        calls = isinstance(first.value, ast.Call) and isinstance(second.value, ast.Call)
        if not calls or not isinstance(old, ast.Name) or not isinstance(new, ast.Name):
            continue
        assert isinstance(second.value, ast.Call)
        start = second.value.args[0] if second.value.args else None
        if old.id == new.id and isinstance(start, ast.Name) and start.id == old.id:
            yield first, second


def _list_other_reads(
    block: list[ast.stmt], first: ast.Assign, second: ast.Assign
) -> list[ast.Name]:
    """Return the reads of what is pooled that are meant; none where no layer is given
    it as the one before was given its input, or nothing else reads it.
    """
    target = second.targets[0]
    assert isinstance(target, ast.Name)
    reads: list[ast.Name] = []
    is_handed_on = False
    for statement in block[block.index(second) + 1 :]:
        value = getattr(statement, "value", None)
        names = [
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id == target.id
        ]
        if isinstance(value, ast.Call) and _is_called_alike(value, first.value):
            start = value.args[0]
            if isinstance(start, ast.Name) and start.id == target.id:
                is_handed_on = True
                names = [node for node in names if node is not start]
        reads += [node for node in names if isinstance(node.ctx, ast.Load)]
        if any(isinstance(node.ctx, ast.Store) for node in names):
            break
    return reads if is_handed_on else []


def _is_called_alike(call: ast.Call, other: ast.expr) -> bool:
    """Return whether two calls have the same arguments behind the first."""
    if not isinstance(other, ast.Call) or not call.args or not other.args:
        return False
    rests = [
        [ast.dump(node) for node in (*compared.args[1:], *compared.keywords)]
        for compared in (call, other)
    ]
    has_names = any(isinstance(node, ast.Name) for node in call.args[1:])
    return rests[0] == rests[1] and has_names


def _rename_pooled(
    text: SourceText, renamed: list[tuple[ast.Assign, list[ast.Name]]]
) -> Fix:
    """Give what is pooled names of its own, where it is made and where it is read."""
    edits: list[Edit] = []
    shown: list[str] = []
    for pooled, readers in renamed:
        target = pooled.targets[0]
        assert isinstance(target, ast.Name)
        new = f"{target.id}_pooled"
        edits += [Edit(text.span(node), new) for node in (target, *readers)]
        shown.append(f"`{new} = {join_lines(text.written(pooled.value))}`")
    words = f"{' and '.join(shown)}, which the next layer does not get"
    return Fix("fits", words, tuple(edits))


# -- what is reduced to another number of rows ---------------------------------------


def suggest_unreduced_rows(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `adj @ h` for `adj @ pooled`, where the rows of `h` were added up to
    those of `pooled`, and those of `h` fit.
    """
    op, sides = program.trace.ops[failure.op], find_sides(failure)
    places = find_tensor_expressions(program, op)
    whole = program.node(op.span)
    for side in sides:
        place = places[side[0]] if side is not None and side[0] < len(places) else None
        if side is None or place is None or whole is None:
            continue
        if not isinstance(place[0], ast.Name):
            continue
        own, other = op.inputs[side[0]], sides[1 - sides.index(side)]
        size = op.inputs[other[0]].shape[other[1]] if other is not None else None
        shape = (*own.shape[: side[1]], size, *own.shape[side[1] + 1 :])
        named = iter_named_facts(program, op, whole[0], place[0])
        sources = _collect_sources(program, own)
        for name, fact in named.items():
            if fact.shape == shape and fact.tensor in sources and name != place[0].id:
                edit = Edit(whole[0].span(place[0]), name)
                yield Fix("fits", f"`{name}` for `{place[0].id}`", (edit,))


def _collect_sources(program: Program, fact: Fact) -> set[int]:
    """Return the tensors of whose rows a tensor is added up or averaged."""
    maker = program.producers.get(fact.tensor)
    if maker is None or maker.name.rpartition(".")[2] not in REDUCING:
        return set()
    return {source.tensor for source in maker.inputs if source.ndim == fact.ndim}


REDUCING = operators_with("indexes_along_dim", "reduces_dims")
