"""Find batches that are cut into parts, whose mean losses are added up before a step:
the gradient is so many times that of the mean over the batch.

The run shows it: the parts of one batch together have its samples, and the loss of each
is a mean over its own ones.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import UNDIVIDED_LOSS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import LOOPS
from shapewright.record.ops import Fact, Op
from shapewright.record.report import Moment

CUTTING = operators_with("splits") - {"unbind"}
LOSSES = operators_with("is_loss")
SUMS = {"+", "add", "__add__", "__radd__"}
QUOTIENTS = operators_with("divides_elements")
BOUNDED = re.compile(r"accelerat|fabric|clip_grad|\.grad\b")
"""What counts batches by itself, bounds a step, or may divide the gradients."""
SEPARATE = re.compile(r"task|domain|view|crop|episode|support|branch|head", re.I)
"""In the words of parts that are no samples of one kind: their losses add up."""
RATE = re.compile(r"(^|_)(lr|rate)(_|$)", re.I)
FARTHEST = 2_000


@dataclass(slots=True, eq=False)
class _CutBatch:
    """The parts of a batch, by the number of their tensor, and their backward passes by
    place: the samples of each. `places` are the slices that are written.
    """

    samples: int
    cut: Op
    places: set[str] = field(default_factory=set)
    parts: dict[int, Fact] = field(default_factory=dict)
    passes: dict[Span, list[int]] = field(default_factory=dict)


def find_sub_batch_losses(scene: RehearsalContext) -> Iterator[Finding]:
    """Yield the first backward pass whose losses are means over parts of a batch, which
    a step adds up.
    """
    cuts = _collect_cuts(scene)
    if not cuts or any(_is_bounded(text) for text in scene.program.own_texts()):
        return
    owners = {part: batch for batch in cuts for part in batch.parts}
    for op in scene.program.trace.ops:
        if op.name.rpartition(".")[2] != "backward" or not op.inputs:
            continue
        part = _find_part(scene, op.inputs[0], owners)
        batch = owners.get(part.tensor) if part is not None else None
        if op.span is None or part is None or batch is None:
            continue
        if _is_mean_of(scene, op.inputs[0], part.shape[0]):
            batch.passes.setdefault(op.span, []).append(part.shape[0])
    for batch in cuts:
        for span, sizes in batch.passes.items():
            if _is_whole(batch, sizes) and _is_step_of_several(scene, span):
                yield _report_parts(batch, span, sizes[0])
                return


def _is_whole(batch: _CutBatch, sizes: list[int]) -> bool:
    """Return whether passes over parts of a batch go through all of it, part by part;
    a rehearsal leaves out turns in front of the last one.
    """
    size, count = sizes[0], ceil(batch.samples / sizes[0])
    is_even = all(other == size for other in sizes[:-1])
    is_end = sizes[-1] == batch.samples - (count - 1) * size
    is_apart = len(batch.places) == len(batch.parts) or len(batch.cut.outputs) > 1
    return 2 <= len(sizes) <= count and is_even and is_end and is_apart


def _report_parts(batch: _CutBatch, span: Span, size: int) -> Finding:
    """Return the finding on the backward pass of the parts of a batch."""
    count = ceil(batch.samples / size)
    return build_finding(
        UNDIVIDED_LOSS,
        f"the gradients of {count} parts of a batch are added up before a step,"
        f" and each loss is a mean over the {size} samples of its part: a step is"
        f" {count} times as long as that of a mean over all {batch.samples}",
        span,
        (batch.cut.span, "the batch is cut here"),
    )


def _collect_cuts(scene: RehearsalContext) -> list[_CutBatch]:
    """Return the batches of loaders that a loop cuts along their samples."""
    cuts: dict[int, _CutBatch] = {}
    for op in scene.program.trace.ops:
        source = op.inputs[0] if len(op.inputs) == 1 else None
        if source is None or source.tensor not in scene.program.batches:
            continue
        if op.span is None or not op.outputs or not _is_cut(op):
            continue
        place = scene.program.node(op.span)
        if place is None or not _is_in_loop(*place):
            continue
        batch = cuts.setdefault(source.tensor, _CutBatch(source.shape[0], op))
        if batch.cut.span == op.span:
            batch.parts.update({fact.tensor: fact for fact in op.outputs})
            batch.places |= {str(dict(op.arguments).get("1"))}
    return list(cuts.values())


def _is_cut(op: Op) -> bool:
    """Return whether an op takes a part of the samples, with all that they have."""
    name, arguments = op.name.rpartition(".")[2], dict(op.arguments)
    source, part = op.inputs[0], op.outputs[0]
    if part.shape[1:] != source.shape[1:] or not source.shape:
        return False
    if name in CUTTING:
        return len(op.outputs) > 1 and part.shape[0] < source.shape[0]
    index = arguments.get("1")
    return name == "[]" and isinstance(index, str) and ":" in index


def _is_in_loop(text: SourceText, node: ast.expr | ast.stmt) -> bool:
    """Return whether a part is taken in a loop over parts, or in a function that is
    given the place; and whether the parts are samples, by their words.
    """
    loop = text.around(node, *LOOPS, ast.FunctionDef)
    if loop is None:
        return False
    words = text.written(text.statement_of(node)).partition("\n")[0]
    head = ast.unparse(loop.iter) if isinstance(loop, ast.For) else ""
    return SEPARATE.search(words) is None and SEPARATE.search(head) is None


def _is_bounded(text: SourceText) -> bool:
    """Return whether gradients or rates are divided or bounded in a file."""
    if BOUNDED.search(text.text):
        return True
    for node in text.nodes:
        rate: ast.expr | None = None
        if isinstance(node, ast.keyword) and RATE.search(node.arg or ""):
            rate = node.value
        if isinstance(node, ast.Assign) and RATE.search(ast.unparse(node.targets[0])):
            rate = node.value
        if rate is not None and any(isinstance(n, ast.Div) for n in ast.walk(rate)):
            return True
    return False


def _find_part(
    scene: RehearsalContext, loss: Fact, owners: dict[int, _CutBatch]
) -> Fact | None:
    """Return the part of a batch of which a loss was computed, None if of several."""
    seen = set[int]()
    waiting, parts = [loss], dict[_CutBatch, Fact]()
    while waiting and len(seen) < FARTHEST:
        fact = waiting.pop()
        if fact.tensor in seen:
            continue
        seen.add(fact.tensor)
        if fact.tensor in owners:
            parts[owners[fact.tensor]] = fact
            continue
        maker = scene.program.producers.get(fact.tensor)
        waiting += maker.inputs if maker is not None else ()
    sizes = {fact.shape[0] for fact in parts.values()}
    first = min(parts, key=lambda batch: batch.cut.index, default=None)
    return parts[first] if first is not None and len(sizes) == 1 else None


def _is_mean_of(scene: RehearsalContext, loss: Fact, samples: int) -> bool:
    """Return whether a loss, or a term of it, is a mean over so many samples."""
    waiting = [loss]
    for _ in range(FARTHEST):
        if not waiting:
            return False
        maker = scene.program.producers.get(waiting.pop().tensor)
        if maker is None or not maker.inputs:
            continue
        name, source = maker.name.rpartition(".")[2], maker.inputs[0]
        number = dict(maker.arguments).get("1")
        if name in SUMS:
            waiting += maker.inputs
        elif name in QUOTIENTS and len(maker.inputs) == 1 and number == samples:
            summed = scene.program.producers.get(source.tensor)
            return summed is not None and _get_reduction(summed) == "sum"
        elif _get_reduction(maker) == "mean" and not maker.outputs[0].shape:
            return bool(source.shape) and source.shape[0] % samples == 0
    return False


def _get_reduction(op: Op) -> str:
    """Return "mean" or "sum" for a loss or a reduction to one number."""
    if op.outputs and op.outputs[0].shape:
        return ""
    name = op.name.rpartition(".")[2]
    if name in ("mean", "sum"):
        return name
    return str(op.reduction) if name in LOSSES else ""


def _is_step_of_several(scene: RehearsalContext, span: Span) -> bool:
    """Return whether optimizers step less often than a backward pass is made, and clear
    gradients less often too.
    """
    story = scene.rehearsal.story
    passes = _count(story, "backward", span)
    steps, clearings = _count(story, "step", None), _count(story, "zero_grad", None)
    return 0 < steps * 2 <= passes and clearings < passes


def _count(moment: Moment, kind: str, span: Span | None) -> int:
    """Return how often an event of a kind, or only that of a place, came in a run."""
    is_own = moment.kind == kind and (
        span is None
        or (moment.file == span.file and span.line <= moment.line <= span.end_line)
    )
    count = moment.count if is_own else 0
    return count + sum(_count(inner, kind, span) for inner in moment.inner)
