"""Find losses that are summed or averaged wrongly: means divided by the number of
samples, and sums placed after their loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.additions import (
    VALUES,
    get_addition,
    is_of_all,
    is_same,
    is_set_between,
    is_sum_of,
    iter_divisions,
)
from shapewright.analysis.training_mistakes.batch_loops import (
    iter_batch_loops,
    iter_loops,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.last_values import find_last_values
from shapewright.analysis.training_mistakes.meters import iter_meter_calls
from shapewright.analysis.training_mistakes.repeated_counts import find_repeated_counts
from shapewright.analysis.training_mistakes.sample_counts import (
    is_batch_size,
    is_sample_count,
)
from shapewright.analysis.training_mistakes.summed_indices import (
    find_summed_indices,
)
from shapewright.findings.codes import MEAN_OVER_SAMPLES, SUM_AFTER_LOOP, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_last_line,
    iter_assignments,
)
from shapewright.record.ops import Op

LOSSES = operators_with("is_loss")
LIMITS = frozenset({"clamp", "clip", "max", "float"})
"""Calls on a count that keep it what it is."""


def _find_sample_division(
    scene: RehearsalContext, loop: StoryLoop
) -> Iterator[Finding]:
    """Find a sum of batch means that is divided by the number of samples."""
    text = loop.text
    if _is_of_single_samples(loop):
        return
    for node in ast.walk(loop.node):
        if not isinstance(node, ast.stmt) or text.around(node, *LOOPS) is not loop.node:
            continue  # a loop within goes over something else than batches
        total, added, is_list = get_addition(node)
        if not total or added is None:
            continue
        if find_mean(scene, text, loop.node, added) is None:
            continue
        for place, divided, divisor in iter_divisions(text, loop.node, node):
            if is_list:
                same = is_sum_of(divided, total)
            else:
                same = is_same(divided, total) or is_of_all(text, divided, total)
            if not same or is_set_between(text, loop.node, total, place):
                continue
            if is_sample_count(text, divisor, place, (loop.node, node)):
                yield build_finding(
                    MEAN_OVER_SAMPLES,
                    f"`{total}` {'holds' if is_list else 'is a sum of'} means, one for "
                    "each batch, divided by the number of samples: "
                    f"`{ast.unparse(divisor)}`",
                    text.span(place),
                    (text.span(node), "the mean of a batch is added here"),
                )
                return


def _find_sample_meter(scene: RehearsalContext, loop: StoryLoop) -> Iterator[Finding]:
    """Find means that an object of the program adds up, and divides by samples."""
    text = loop.text
    for call in iter_meter_calls(text, loop.node):
        meter = call.meter
        if meter.is_weighted or find_mean(scene, text, loop.node, call.value) is None:
            continue
        if call.divisor is not None:
            by_samples = is_sample_count(
                text, call.divisor, call.divisor, (loop.node, call.statement)
            )
        else:
            by_samples = call.count is not None and (
                meter.is_length or is_batch_size(text, call.count, loop.node)
            )
        if by_samples and not _is_of_single_samples(loop):
            by = ast.unparse(call.divisor or call.count or call.value)
            yield build_finding(
                MEAN_OVER_SAMPLES,
                f"`{text.written(call.node)}` adds the mean of a batch to a sum that"
                f" `{meter.name}` divides by the number of samples: `{by}`",
                text.span(call.node),
                (text.span(meter.addition), "it is added as it is"),
                (text.span(meter.division), "the division"),
            )
            return


def _is_of_single_samples(loop: StoryLoop) -> bool:
    """Return whether every batch of a loop holds a single sample."""
    shapes = [
        shape
        for event in loop.moment.inner
        if event.kind == "batches" and event.line == loop.moment.line
        for shape in event.shapes
    ]
    firsts = re.findall(r"\((\d+)", " ".join(shapes))
    return bool(firsts) and set(firsts) == {"1"}


def find_mean(
    scene: RehearsalContext, text: SourceText, loop: ast.For, value: ast.expr
) -> ast.expr | None:
    """Return the mean loss that is added if the value is just `loss.item()`, or
    None.
    """
    inner = value
    while isinstance(inner, ast.Call):
        if isinstance(inner.func, ast.Attribute) and inner.func.attr in VALUES:
            inner = inner.func.value
        elif isinstance(inner.func, ast.Name) and inner.func.id == "float":
            inner = inner.args[0] if inner.args else inner.func
        else:
            break
        if isinstance(inner, ast.Attribute) and inner.attr == "data":
            inner = inner.value
    loss: ast.expr | None = None
    if isinstance(inner, ast.Name):
        for target, value in iter_assignments(loop):
            if isinstance(target, ast.Name) and target.id == inner.id:
                loss = value
    elif isinstance(inner, ast.Call):
        loss = inner
    return loss if loss is not None and is_mean_loss_at(scene, text, loss) else None


def is_mean_loss_at(scene: RehearsalContext, text: SourceText, loss: ast.expr) -> bool:
    """Return whether a call is one of torch's losses with mean reduction, or the mean
    of a number for each sample, such as of the hits of a batch.
    """
    if get_called_name(loss) == "mean" and _is_mean_of_samples(scene, text, loss):
        return True
    if isinstance(loss, ast.BinOp) and isinstance(loss.op, ast.Add):
        return is_mean_loss_at(scene, text, loss.left)
    if isinstance(loss, ast.BinOp) and isinstance(loss.op, ast.Div):
        return _is_sum_over_count(loss)
    if not isinstance(loss, ast.Call):
        return False
    lines = range(loss.lineno, get_last_line(loss) + 1)
    loss_ops = [
        op
        for op in scene.program.trace.ops
        if op.name.rpartition(".")[2] in LOSSES
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
    ]
    if not loss_ops:
        return _is_own_mean(scene, text, lines)
    return bool(loss_ops) and all(
        _is_mean_loss(op)
        and (op.span is None or op.span.line in lines or _is_returned(scene, op))
        for op in loss_ops
    )


def _is_sum_over_count(node: ast.BinOp) -> bool:
    """Return whether an expression is a mean of what a mask leaves:
    `loss.sum() / mask.sum()`.
    """
    left, right = node.left, node.right
    while isinstance(right, ast.Call) and get_called_name(right) in LIMITS:
        owner = get_receiver(right)
        if owner is None:
            return False
        right = owner
    is_sum = get_called_name(left) == "sum" and isinstance(left, ast.Call)
    return is_sum and get_called_name(right) in ("sum", "numel", "len")


def _is_mean_of_samples(
    scene: RehearsalContext, text: SourceText, call: ast.expr
) -> bool:
    """Return whether a call of `mean` gives one number of one for each sample."""
    span = text.span(call)
    means = [op for op in scene.program.trace.ops if op.span == span and op.inputs]
    return bool(means) and all(
        op.inputs[0].ndim == 1 and op.inputs[0].shape[0] > 1 and not op.outputs[0].shape
        for op in means
        if op.name.rpartition(".")[2] == "mean"
    )


def _is_own_mean(scene: RehearsalContext, text: SourceText, lines: range) -> bool:
    """Return whether a loss that the program writes itself ends in a mean."""
    scalar_ops = [
        op
        for op in scene.program.trace.ops
        if op.outputs
        and not op.outputs[0].shape
        and op.span is not None
        and op.span.line not in lines
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
    ]
    names = {op.name.rpartition(".")[2] for op in scalar_ops}
    return "mean" in names and "sum" not in names


def _is_returned(scene: RehearsalContext, op: Op) -> bool:
    """Return whether the function that computes a loss returns that same loss."""
    text = scene.program.text(op.span.file) if op.span is not None else None
    node = text.node(op.span) if text is not None and op.span is not None else None
    if text is None or node is None:
        return False
    holder = text.parent(node)
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Name):
        name = holder.targets[0].id
        function = text.around(holder, ast.FunctionDef)
        inside = list(ast.walk(function)) if function is not None else []
        set_at = [
            name_node
            for name_node in inside
            if isinstance(name_node, ast.Name)
            and name_node.id == name
            and isinstance(name_node.ctx, ast.Store)
        ]
        back = [
            statement.value for statement in inside if isinstance(statement, ast.Return)
        ]
        return len(set_at) == 1 and any(
            value is not None and is_same(value, name) for value in back
        )
    return isinstance(holder, ast.Return)


def _is_mean_loss(op: Op) -> bool:
    """Return whether a loss is the mean over its samples."""
    return op.reduction == "mean" and bool(op.outputs) and not op.outputs[0].shape


@looks_for(SUM_AFTER_LOOP, MEAN_OVER_SAMPLES)
def find_wrong_sums(scene: RehearsalContext) -> Iterator[Finding]:
    """Find wrong averages and misplaced sums of every loop."""
    yield from find_last_values(scene)
    yield from find_repeated_counts(scene)
    yield from find_summed_indices(scene)
    seen: set[ast.For] = set()
    for loop in (
        *iter_batch_loops(scene),
        *iter_loops(scene, scene.rehearsal.story, ()),
    ):
        if loop.node not in seen:
            seen.add(loop.node)
            yield from _find_sum_after(loop)
    for loop in iter_batch_loops(scene):
        yield from _find_larger_data_set(loop)
        yield from _find_sample_division(scene, loop)
        yield from _find_sample_meter(scene, loop)


def _find_larger_data_set(loop: StoryLoop) -> Iterator[Finding]:
    """Find sums over a loader with a sampler that are divided by the size of the whole
    data set.
    """
    text = loop.text
    name = ast.unparse(loop.node.iter)
    sampled = [
        node
        for node in text.nodes
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == name
        and get_called_name(node.value) == "DataLoader"
        and isinstance(node.value, ast.Call)
        and any(
            word.arg == "sampler" and "istributed" not in ast.unparse(word.value)
            for word in node.value.keywords
        )
    ]
    totals = {
        get_addition(node)[0]
        for node in ast.walk(loop.node)
        if isinstance(node, ast.stmt)
    }
    for place, divided, divisor in iter_divisions(text, loop.node):
        same = ast.unparse(divided) in totals - {""}
        if sampled and same and ast.unparse(divisor) == f"len({name}.dataset)":
            yield build_finding(
                MEAN_OVER_SAMPLES,
                f"`{ast.unparse(divided)}` adds up what the sampler of `{name}` gives,"
                f" and is divided by the whole data set: `{ast.unparse(divisor)}`",
                text.span(place),
                (text.span(sampled[0]), "the loader has a sampler"),
            )


def _find_sum_after(loop: StoryLoop) -> Iterator[Finding]:
    """Find `total += loss.item()` after the loop, which counts only the last batch."""
    block = _find_block(loop.text, loop.node)
    at = next((n for n, statement in enumerate(block) if statement is loop.node), None)
    if at is None:
        return
    names = collect_names(loop.node, ast.Store)
    started = {
        name
        for statement in block[:at]
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in collect_names(target)
    }
    grown = {
        ast.unparse(child.target)
        for child in ast.walk(loop.node)
        if isinstance(child, ast.AugAssign)
    }
    for statement in block[at + 1 :]:
        if not isinstance(statement, ast.AugAssign) or not isinstance(
            statement.op, ast.Add
        ):
            continue
        name = ast.unparse(statement.target)
        used = collect_names(statement.value) & names
        if name.partition("[")[0] in started and name not in grown and used:
            batch = ", ".join(f"`{used_name}`" for used_name in sorted(used))
            yield build_finding(
                SUM_AFTER_LOOP,
                f"`{name}` is increased after the loop over batches, so only the last "
                f"batch counts: {batch} is of that batch",
                loop.text.span(statement),
                (loop.text.span(loop.node.target), "the loop that it follows"),
            )


def _find_block(text: SourceText, node: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the block that contains a statement, including those
    around a `with`.
    """
    parent = text.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(statement is node for statement in block):
            if isinstance(parent, ast.With | ast.AsyncWith):
                around = _find_block(text, parent)
                place = next(
                    n for n, statement in enumerate(around) if statement is parent
                )
                return [*around[:place], *block, *around[place + 1 :]]
            return block
    return []
