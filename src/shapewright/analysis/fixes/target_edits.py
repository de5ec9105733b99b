"""Edits for targets of a loss: flattened like the predictions, shifted by a step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from shapewright.analysis.fixes.operands import append_method, with_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op, collect_leaves

OF_ROWS = frozenset({TARGET_SHAPE, BATCH_DIM_MISMATCH, BROADCAST_MISMATCH})
VIEWS = operators_with("regroups_dims", "copies_if_needed") | {"contiguous"}
"""Operators that keep all elements in their order."""
FARTHEST = 60
"""Ops on the way from the predictions to the tensor that was cut."""
OTHERS = {":-1": "1:", "1:": ":-1"}
"""What is predicted from all steps but the last is all steps but the first."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A tensor without its first or last step along a dim, and how it is written."""

    source: Fact
    dim: int
    step: str

    def write(self, step: str) -> str:
        """Return a subscript that cuts the same dim: `[:, 1:]`."""
        return f"[{':, ' * self.dim}{step}]"


def suggest_flat_target(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a target in one dim where the predictions of all positions are rows, or
    such rows where the target has one dim:
    `criterion(scores.view(-1, 9), labels.view(-1))`.
    """
    unmet = failure.unmet
    inputs = program.trace.ops[failure.op].inputs
    if unmet is None or unmet.code != TARGET_SHAPE or len(inputs) < 2:
        return
    scores, target = inputs[:2]
    if len(target.shape) == 1 and len(scores.shape) > 2:
        yield from _flatten_predictions(program, program.trace.ops[failure.op])
    if len(scores.shape) != 2 or len(target.shape) < 2:
        return
    maker = program.producers.get(scores.tensor)
    if maker is None or maker.name.rpartition(".")[2] not in VIEWS:
        return
    before = maker.inputs[0].shape
    is_same = before[: len(target.shape)] == target.shape
    place = find_tensor_expressions(program, program.trace.ops[failure.op])[1]
    text_and_node = program.node(program.trace.ops[failure.op].span)
    if not is_same or prod(target.shape) != scores.shape[0]:
        return
    if place is not None and text_and_node is not None:
        text = text_and_node[0]
        new = f"{text.written(place[0])}.reshape(-1)"
        edit = Edit(text.span(place[0]).end, ".reshape(-1)")
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def suggest_rows_of_target(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `logits[train_mask]` beside `labels[train_mask]`, where a loss has scores
    of all rows.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_ROWS or len(op.inputs) < 2:
        return
    scores, target = op.inputs[:2]
    places = find_tensor_expressions(program, op)
    text_and_node = program.node(op.span)
    if text_and_node is None or len(places) < 2 or None in places[:2]:
        return
    first, second = (place[0] for place in places[:2] if place is not None)
    taken = program.producers.get(target.tensor)
    if not isinstance(second, ast.Subscript) or taken is None or not taken.inputs:
        return
    whole = taken.inputs[0].shape
    is_of_rows = whole[:1] == scores.shape[:1] != target.shape[:1]
    if is_of_rows and isinstance(first, ast.Name | ast.Attribute | ast.Call):
        text = text_and_node[0]
        rows = f"[{text.written(second.slice)}]"
        new = f"{text.written(first)}{rows}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(first).end, rows),))


def suggest_float_column(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `y.unsqueeze(1).float()` for class numbers (8,) beside one score each,
    (8, 1), of a loss that compares floats.
    """
    unmet, inputs = failure.unmet, program.trace.ops[failure.op].inputs
    if unmet is None or unmet.code != TARGET_SHAPE or len(inputs) < 2:
        return
    scores, target = inputs[:2]
    is_whole = target.dtype.startswith(("int", "uint", "bool"))
    if not is_whole or not scores.dtype.startswith("float"):
        return
    for dim, size in enumerate(scores.shape):
        rest = (*scores.shape[:dim], *scores.shape[dim + 1 :])
        if size == 1 and dim and rest == target.shape:
            method = f".unsqueeze({dim}).float()"
            yield from with_method(program, failure, 1, method)
            return


def suggest_made_columns(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.ones(16, 1)` for all `torch.ones(16)` and `torch.zeros(16)` that a
    loss compares with one score each, (16, 1).
    """
    if not _is_column_beside_row(program, failure):
        return
    edits: dict[Span, Edit] = {}
    shown: list[str] = []
    for other in program.failures:
        if not _is_column_beside_row(program, other):
            continue
        fact = program.trace.ops[other.op].inputs[1]
        maker = program.producers.get(fact.tensor)
        place = program.call_at(maker.span) if maker is not None else None
        if place is None or get_called_name(place[1]) not in CONSTANTS:
            return
        text, call = place
        if len(call.args) != 1 or isinstance(call.args[0], ast.Tuple | ast.List):
            return
        end = text.span(call.args[0]).end
        if end not in edits:
            edits[end] = Edit(end, ", 1")
            size = text.line_of(call.args[0])
            shown.append(f"`{text.line_of(call.func)}({size}, 1)`")
    if edits:
        yield Fix("fits", " and ".join(dict.fromkeys(shown)), tuple(edits.values()))


CONSTANTS = frozenset({"ones", "zeros"})
"""What makes the targets of a discriminator."""


def _is_column_beside_row(program: Program, failure: Failure) -> bool:
    """Return whether a loss compares scores (N, 1) with targets (N,)."""
    unmet, inputs = failure.unmet, program.trace.ops[failure.op].inputs
    if unmet is None or unmet.code != TARGET_SHAPE or len(inputs) < 2:
        return False
    return inputs[0].shape == (*inputs[1].shape, 1) and inputs[1].ndim == 1


def suggest_indexed_target(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `labels[idx_train]` for `labels` beside `output[idx_train]`."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return
    maker = program.producers.get(op.inputs[0].tensor)
    where = program.node(op.span)
    scores, target = find_tensor_expressions(program, op)[:2]
    if maker is None or maker.name != "[]" or where is None:
        return
    if scores is None or target is None:
        return
    whole, taken = maker.inputs[0].shape, scores[0]
    is_of_all = whole[:1] == op.inputs[1].shape[:1] != op.inputs[0].shape[:1]
    if is_of_all and isinstance(taken, ast.Subscript):
        index = where[0].written(taken.slice)
        written = where[0].written(target[0])
        if isinstance(target[0], ast.Name | ast.Attribute) and ":" not in index:
            edit = Edit(where[0].span(target[0]).end, f"[{index}]")
            yield Fix("fits", f"`{written}[{index}]`", (edit,))


def suggest_squeezed_items(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `return image, mask.squeeze(0)` in a data set whose masks have a dim of
    size 1 in front, which class indices do not have.
    """
    unmet, inputs = failure.unmet, program.trace.ops[failure.op].inputs
    if unmet is None or unmet.code != TARGET_SHAPE or len(inputs) < 2:
        return
    scores, target = inputs[:2]
    if target.shape[1:2] != (1,) or len(target.shape) != len(scores.shape):
        return
    method = ".squeeze(0)" if target.dtype == "int64" else ".squeeze(0).long()"
    for file in program.trace.sources:
        text = program.text(file)
        for _, function in text.functions("__getitem__") if text is not None else ():
            last = function.body[-1]
            value = last.value if isinstance(last, ast.Return) else None
            if text is None or not isinstance(value, ast.Tuple) or len(value.elts) < 2:
                continue
            mask = value.elts[-1]
            if isinstance(mask, ast.Name):
                yield append_method(text, mask, method)
                continue
            if get_called_name(mask) != "unsqueeze" or not isinstance(mask, ast.Call):
                continue
            whole = get_receiver(mask)
            if whole is not None and len(mask.args) == 1:
                new = text.written(whole) + method.removeprefix(".squeeze(0)")
                edit = Edit(text.span(mask), new)
                yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _flatten_predictions(program: Program, op: Op) -> Iterator[Fix]:
    """Yield `scores.reshape(-1, scores.size(-1))`, where this gives a row for each
    element of the target.
    """
    scores, target = op.inputs[:2]
    place = find_tensor_expressions(program, op)[0]
    text_and_node = program.node(op.span)
    if prod(scores.shape[:-1]) != target.shape[0] or place is None:
        return
    if text_and_node is None:
        return
    text, node = text_and_node[0], place[0]
    written = text.written(node)
    method = f".reshape(-1, {written}.size(-1))"
    if not isinstance(node, ast.Name):
        method = ".flatten(0, -2)"
    yield append_method(text, node, method)


def suggest_shifted_target(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the steps that belong together where tokens are predicted from those
    before: `tokens[:, 1:]` as the target of `model(tokens[:, :-1])`, and the reverse.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return
    scores, target = op.inputs[:2]
    steps = _collect_views(program, target)
    whole = steps[-1].inputs[0] if steps else target
    cut = _read_cut(program, program.producers.get(whole.tensor))
    if cut is not None:
        yield from _cut_argument(program, op, cut)
        return
    other = _find_cut_before(program, op, whole, scores)
    if other is None or other.dim >= len(whole.shape):
        return
    new = other.write(OTHERS[other.step])
    if steps:
        text_and_call = program.call_at(steps[-1].span)
        if text_and_call is None:
            return
        text, call = text_and_call
        if not isinstance(call.func, ast.Attribute):
            return
        owner, name = call.func.value, call.func.attr
        written = f"{text.written(owner)}{new}"
        edit = Edit(text.span(owner).end, new)
        if name == "view" and other.dim:  # what is cut along dim 1 is not contiguous
            method = text.span(owner).end.until(text.span(call.func))
            edit = Edit(method, f"{new}.reshape")
            written += ".reshape(...)"
        yield Fix("fits", f"`{join_lines(written)}`", (edit,))
        return
    place = find_tensor_expressions(program, op)[1]
    text_and_node = program.node(op.span)
    if place is not None and text_and_node is not None:
        text = text_and_node[0]
        written = text.written(place[0]) + new
        edit = Edit(text.span(place[0]).end, new)
        yield Fix("fits", f"`{join_lines(written)}`", (edit,))


def _collect_views(program: Program, fact: Fact) -> list[Op]:
    """Return the views that made a tensor, the last one first."""
    views: list[Op] = []
    while len(views) < FARTHEST:
        maker = program.producers.get(fact.tensor)
        if maker is None or maker.name.rpartition(".")[2] not in VIEWS:
            break
        views.append(maker)
        fact = maker.inputs[0]
    return views


def _read_cut(program: Program, op: Op | None) -> _Cut | None:
    """Return what a subscript such as `tokens[:, :-1]` cuts, or None."""
    text_and_node = program.node(op.span) if op is not None else None
    if op is None or text_and_node is None or op.name != "[]":
        return None
    text, node = text_and_node
    if not isinstance(node, ast.Subscript):
        return None
    index = node.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    written = [text.written(part).replace(" ", "") for part in parts]
    steps = [at for at, part in enumerate(written) if part in OTHERS]
    rest = [part for part in written if part not in OTHERS]
    if len(steps) != 1 or any(part not in (":", "...") for part in rest):
        return None
    dim = steps[0]
    if "..." in written[:dim]:
        dim += len(op.inputs[0].shape) - len(written)
    return _Cut(op.inputs[0], dim, written[steps[0]])


def _find_cut_before(
    program: Program, op: Op, whole: Fact, scores: Fact
) -> _Cut | None:
    """Return how the tokens of a target, or the scores for them, were cut before."""
    for before in reversed(program.trace.ops[: op.index]):
        if before.name != "[]" or not before.inputs:
            continue
        cut = _read_cut(program, before)
        if cut is None:
            continue
        is_own = cut.source.tensor == whole.tensor
        left = before.outputs[0].shape if before.outputs else ()
        if not is_own and not _is_made_of(program, scores, before.outputs[0]):
            continue
        if left[: len(whole.shape)] == _shorten(whole.shape, cut.dim):
            return cut
    return None


def _shorten(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """Return a shape with one element less along a dim."""
    if dim >= len(shape):
        return ()
    return (*shape[:dim], shape[dim] - 1, *shape[dim + 1 :])


def _is_made_of(program: Program, fact: Fact, source: Fact) -> bool:
    """Return whether a tensor is a view of another one."""
    steps = _collect_views(program, fact)
    known = {fact.tensor, *(step.inputs[0].tensor for step in steps)}
    return source.tensor in known


def _cut_argument(program: Program, op: Op, cut: _Cut) -> Iterator[Fix]:
    """Yield the tokens without their other end where a model reads them whole."""
    other = OTHERS[cut.step]
    for call in reversed(program.trace.calls):
        if call.ops[0] >= op.index or call.span is None or call.depth > 1:
            continue
        facts = [fact.tensor for fact in collect_leaves((call.inputs,))]
        text_and_call = program.call_at(call.span)
        if cut.source.tensor not in facts or text_and_call is None:
            continue
        text, node = text_and_call
        target_node = program.node(_find_cut_span(program, cut))
        if target_node is None or not isinstance(target_node[1], ast.Subscript):
            return
        name = text.written(target_node[1].value)
        for argument in [*node.args, *(word.value for word in node.keywords)]:
            if text.written(argument) == name:
                new = cut.write(other)
                edit = Edit(text.span(argument).end, new)
                yield Fix("fits", f"`{name}{new}`", (edit,))
        return


def _find_cut_span(program: Program, cut: _Cut) -> Span | None:
    """Return where a cut is written."""
    for op in program.trace.ops:
        is_same = op.name == "[]" and op.inputs[:1] == (cut.source,)
        if is_same and _read_cut(program, op) == cut:
            return op.span
    return None


def suggest_soft_targets(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest targets as they are where `one_hot` gets a row of shares for each sample,
    as after a mixup; labels of other batches still go through it.
    """
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if op.name.rpartition(".")[2] != "one_hot" or text_and_call is None:
        return
    target = op.inputs[0]
    if not target.dtype.startswith("float") or len(target.shape) < 2:
        return
    text, call = text_and_call
    whole: ast.expr = call
    parent = text.parent(call)
    outer = text.parent(parent)
    cast = isinstance(parent, ast.Attribute) and parent.attr in ("float", "to", "type")
    if cast and isinstance(outer, ast.Call):
        whole = outer
    if not call.args:
        return
    name = text.written(call.args[0])
    written = join_lines(text.written(whole))
    span = text.span(whole)
    yield Fix("fits", f"`{name}` for `{written}`", (Edit(span, name),))
    if isinstance(call.args[0], ast.Name):
        new = f"{name} if {name}.is_floating_point() else {written}"
        if not isinstance(text.parent(whole), ast.Assign | ast.Return):
            new = f"({new})"
        yield Fix("fits", f"`{new}`", (Edit(span, new),))
