"""Find targets of language models that were masked with the tokens, or shifted
twice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.hidden_targets import find_hidden_targets
from shapewright.analysis.hazards.loss_targets import SHIFTING
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import MASKED_TARGETS, SHIFTED_TWICE, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves

FILLS = frozenset({"masked_fill", "where"})
LOSSES = frozenset({"cross_entropy", "nll_loss"})
TARGETS = re.compile(r"label|target", re.I)
FARTHEST = 12
"""Calls between targets and the loss."""


@looks_for(MASKED_TARGETS)
def find_masked_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find targets that are made of the tokens after some were masked, and those of
    places that were hidden in them too.
    """
    yield from find_hidden_targets(scene)
    read = {
        fact.storage
        for call in scene.calls
        if call.name == "embedding" and len(call.op.inputs) > 1
        for fact in _iter_sources(scene, call.op.inputs[0])
        if not fact.dtype.startswith("float")
    }
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in LOSSES or len(call.op.inputs) < 2:
            continue
        fill = _find_fill(scene, call.op.inputs[1])
        if fill is None or _get_filled(fill).storage not in read:
            continue
        write = _find_write(scene, fill)
        if write is None or write.span is None or write.span in seen:
            continue
        seen.add(write.span)
        message = (
            "this masks the targets too: they are the same tensor as the tokens, so"
            " that the masked ones are to be predicted as what they were masked with"
        )
        yield scene.finding(
            MASKED_TARGETS,
            write,
            message,
            (fill, "the targets are made of it here"),
            (call.op, "the loss reads them here"),
        )


def _iter_sources(scene: HazardContext, fact: Fact) -> Iterator[Fact]:
    """Yield a tensor and those that it was made of, one by one, up to one of which
    tokens were masked in a new tensor.
    """
    yield fact
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        if op.name.rpartition(".")[2] in FILLS:
            return
        yield from op.inputs[:1]


def _find_fill(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that puts an ignored label in the place of other targets."""
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        if op.name.rpartition(".")[2] in FILLS and op.inputs:
            return op
    return None


def _get_filled(fill: Op) -> Fact:
    """Return the tensor of which a fill keeps some, and not its mask."""
    return next((f for f in fill.inputs if f.dtype != "bool"), fill.inputs[0])


def _find_write(scene: HazardContext, fill: Op) -> Op | None:
    """Return the call that wrote to what targets are made of, before they were."""
    for op in scene.program.trace.ops[: fill.index]:
        is_write = op.kind == "inplace" and _is_masking(op)
        if is_write and op.inputs[0].storage == _get_filled(fill).storage:
            return op
    return None


def _is_masking(op: Op) -> bool:
    """Return whether a call writes where a mask is true, or one number, and no rows."""
    tensors = op.inputs[1:]
    return bool(op.inputs) and (
        not tensors or any(fact.dtype == "bool" for fact in tensors)
    )


@looks_for(SHIFTED_TWICE)
def find_doubly_shifted(scene: HazardContext) -> Iterator[Finding]:
    """Find labels that a data set shifts, for a model that shifts them itself."""
    for call in scene.program.trace.calls:
        labels = call.inputs[1].get("labels")
        if not SHIFTING.search(call.class_name) or not collect_leaves(labels):
            continue
        shift = _find_shifting_call(scene, call)
        if shift is not None:
            message = (
                f"the labels are shifted here, and `{call.class_name}` shifts them"
                " again: each position learns the token after the next"
            )
            reader = scene.program.trace.ops[call.ops[0]]
            where = (reader, "the model takes the labels here")
            yield scene.finding(SHIFTED_TWICE, shift, message, where)
            return
        for text in scene.program.own_texts():
            place = _find_shift(text)
            if place is None:
                continue
            op = next((scene.program.trace.ops[n] for n in range(*call.ops)), None)
            if op is None:
                return
            message = (
                f"`{text.line_of(place)}` shifts the labels, and `{call.class_name}`"
                " shifts them again: each position learns the token after the next"
            )
            where = (op, "the model takes the labels here")
            finding = scene.finding(SHIFTED_TWICE, op, message, where)
            yield Finding(
                SHIFTED_TWICE, finding.severity, message, text.span(place),
                related=finding.related,
            )  # fmt: skip
            return


def _find_shifting_call(scene: HazardContext, call: ModuleCall) -> Op | None:
    """Return the call that moved labels by one place against the tokens of a model:
    `roll(-1)`, or a slice `[1:]` of what the tokens are a slice `[:-1]` of.
    """
    args, kwargs = call.inputs
    labels = next(iter(collect_leaves(kwargs.get("labels"))), None)
    tokens = next(iter(collect_leaves([kwargs.get("input_ids"), *args[:1]])), None)
    if labels is None or tokens is None:
        return None
    own = [labels, *_list_sources(scene, labels)]
    others = [tokens, *_list_sources(scene, tokens)]
    for fact in own:
        maker = scene.program.producers.get(fact.tensor)
        if maker is None or maker.span is None:
            continue
        name, arguments = maker.name.rpartition(".")[2], dict(maker.arguments)
        shifts = arguments.get("shifts", arguments.get("1"))
        if name == "roll" and shifts in (-1, (-1,)):
            return maker
        if name == "pad" and arguments.get("1", arguments.get("pad")) == (0, 1):
            cut = scene.program.producers.get(maker.inputs[0].tensor)
            items = dict(cut.arguments).get("1") if cut is not None else None
            if isinstance(items, tuple) and items[-1:] == ("1:",):
                return cut
        if name == "[]" and any(
            other.storage == fact.storage
            and other.shape == fact.shape
            and fact.storage_offset - other.storage_offset == 1
            for other in others
        ):
            return maker
    return None


def _list_sources(scene: HazardContext, fact: Fact) -> list[Fact]:
    """Return what a tensor was made of, the first of what was joined."""
    makers = iter_first_makers(scene.program, fact, FARTHEST)
    return [op.inputs[0] for op in makers if op.inputs]


def _find_shift(text: SourceText) -> ast.Subscript | None:
    """Return `ids[1:]` of labels, beside `ids[:-1]` of the inputs, or None."""
    for node in text.nodes:
        if not isinstance(node, ast.Subscript) or not _is_slice(node, 1, None):
            continue
        statement = text.around(node, ast.Assign)
        function = text.around(node, *FUNCTIONS)
        if statement is None or function is None:
            continue
        if not TARGETS.search(text.written(statement.targets[0])):
            continue
        owner = text.written(node.value)
        for target, value in iter_assignments(function):
            if TARGETS.search(text.written(target)):
                continue
            parts = [n for n in ast.walk(value) if isinstance(n, ast.Subscript)]
            if any(
                _is_slice(part, None, -1) and text.written(part.value) == owner
                for part in parts
            ):
                return node
            if isinstance(target, ast.Subscript) and text.written(value) == owner:
                return node  # a row of tokens gets all of it
    return None


def _is_slice(node: ast.Subscript, lower: int | None, upper: int | None) -> bool:
    """Return whether a subscript is a slice between these numbers."""
    place = node.slice
    if not isinstance(place, ast.Slice) or place.step is not None:
        return False
    ends = []
    for end in (place.lower, place.upper):
        if isinstance(end, ast.UnaryOp) and isinstance(end.operand, ast.Constant):
            ends.append(-end.operand.value)  # type: ignore[operator]
        else:
            ends.append(getattr(end, "value", None))
    return ends == [lower, upper]
