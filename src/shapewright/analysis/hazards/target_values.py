"""Find targets whose values are not what the loss takes them for: class labels that
were interpolated, and padding that counts as a class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.hazards.averaged_maps import find_averaged_maps
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.filled_labels import find_filled_labels
from shapewright.analysis.hazards.ignored_indices import find_unread_ignore_index
from shapewright.analysis.hazards.loss_targets import is_write_of_ignored
from shapewright.analysis.hazards.padded_labels import find_padded_labels
from shapewright.analysis.hazards.padded_lists import PaddedList, find_padded_list
from shapewright.analysis.hazards.padded_rows import find_padded_rows
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import INTERPOLATED_LABELS, PADDED_TARGETS, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import find_defining
from shapewright.record.ops import Fact, Op

AVERAGING = frozenset({"bilinear", "bicubic", "linear", "trilinear", "area"})
"""Modes of interpolation that make values between two labels."""
RESIZING = frozenset({"interpolate", "grid_sample", "upsample"})
POOLING = frozenset(
    f"{name}{rank}d" for name in ("avg_pool", "adaptive_avg_pool") for rank in (1, 2, 3)
)
PASSING = operators_with("joins_tensors", "rounds", "reads_by_index") | {"clone", "[]"}
SAME = ("view", "same", "copy")
"""Kinds of calls that return the values that they take, perhaps in another dtype."""
MOST_CLASSES = 200
"""Classes of labels, at most: a loss over 256 classes may be one of brightnesses."""
CLASS_LOSSES = operators_with("takes_class_indices")
END_TOKEN = re.compile(r"eos|end|stop|sep\b", re.IGNORECASE)
"""Words for a token that is predicted behind the last one too."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """Labels on their way to a loss: `op` resized or padded them, where known."""

    op: Op | None = None
    value: int = 0
    lists: PaddedList | None = None


class _Followed:
    """Tensors that hold labels, followed call by call."""

    def __init__(self) -> None:
        self.labels: dict[int, _Labels] = {}  # by the number of a tensor

    def first(self, op: Op) -> tuple[Fact, _Labels] | None:
        """Return the first input of a call that holds labels."""
        for fact in op.inputs:
            if fact.tensor in self.labels:
                return fact, self.labels[fact.tensor]
        return None

    def follow(self, call: OperatorCall) -> None:
        """Note what a call makes of labels, if they are the same values."""
        op, known = call.op, self.first(call.op)
        if known is None:
            return
        if any(fact.dtype == "bool" for fact in op.inputs[1:]):
            return  # those that a mask keeps
        if op.kind in SAME or call.name in PASSING:
            for out in op.outputs:
                self.labels.setdefault(out.tensor, known[1])


@looks_for(INTERPOLATED_LABELS)
def find_interpolated_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find integer labels that are resized with a mode that averages them."""
    followed, seen = _Followed(), set[object]()
    for finding in find_averaged_maps(scene):
        seen.add(finding.span)
        yield finding
    for call in scene.calls:
        op = call.op
        if call.name in RESIZING | POOLING and op.inputs:
            source = _find_labels(scene, op.inputs[0])
            mode = call.given(2, "mode", default="nearest")
            if source and (call.name in POOLING or mode in AVERAGING):
                followed.labels[op.outputs[0].tensor] = _Labels(op)
            continue
        followed.follow(call)
        labels = _get_target(followed, call, 3, MOST_CLASSES)
        if labels is None or labels.op is None or labels.op.span in seen:
            continue
        seen.add(labels.op.span)
        mode = dict(labels.op.arguments).get("mode", "bilinear")
        if labels.op.name.rpartition(".")[2] in POOLING:
            mode = labels.op.name.rpartition(".")[2]
        yield scene.finding(
            INTERPOLATED_LABELS,
            labels.op,
            f"class labels are resized with `{mode}`: between labels 1 and 3 it makes"
            " a 2, a class that is not there",
            (op, "they are a target here"),
        )


def _find_labels(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor of floats was cast from integers just before."""
    for _ in range(6):
        if not fact.dtype.startswith(("float", "bfloat", "half")):
            return fact.dtype.startswith(("int", "uint"))
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            array = "" if maker is None else str(maker.given(0, "data"))
            return array.startswith(("<ndarray of int", "<ndarray of uint"))
        if maker.op.kind not in SAME and maker.name not in PASSING:
            return False
        fact = maker.op.inputs[0]
    return False


def _get_target(
    followed: _Followed, call: OperatorCall, classes: int, most: int = 1 << 30
) -> _Labels | None:
    """Return the labels that are the target of a loss over so many classes."""
    ins = call.op.inputs
    if call.name not in CLASS_LOSSES or len(ins) < 2 or len(ins[0].shape) < 2:
        return None
    if not classes <= ins[0].shape[1] <= most or not ins[1].dtype.startswith(
        ("int", "uint")
    ):
        return None
    return followed.labels.get(ins[1].tensor)


@looks_for(PADDED_TARGETS)
def find_padded_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find losses that take the padding of their targets for a class."""
    yield from find_unread_ignore_index(scene)
    yield from find_padded_labels(scene)
    yield from find_filled_labels(scene)
    followed, seen = _Followed(), set[object]()
    for call in scene.calls:
        op = call.op
        padding = _find_padding(scene, call)
        if padding is not None:
            followed.labels[op.outputs[0].tensor] = padding
            continue
        if is_write_of_ignored(call):
            followed.labels.pop(op.inputs[0].tensor, None)
            continue
        followed.follow(call)
        labels = _get_target(followed, call, 2)
        if labels is None or labels.op is None or op.span in seen:
            continue
        ignored = call.given(4, "ignore_index", default=-100)
        averaged = call.given(6, "reduction", default="mean") in ("mean", "sum")
        if ignored == labels.value or not averaged or len(op.inputs) > 2:
            continue
        if _is_end_token(scene, labels.op):
            continue
        if labels.lists is not None and _is_needed_end(labels.lists):
            continue
        seen.add(op.span)
        target = scene.words(op)[1]
        finding = scene.finding(
            PADDED_TARGETS,
            op,
            f"{target} is padded with {labels.value}, and this loss ignores {ignored}:"
            f" the padding is trained on as class {labels.value}",
            (labels.op, "it is padded here"),
        )
        if labels.lists is not None and labels.lists.place is not None:
            place = Related(labels.lists.place, "it is padded here")
            finding = replace(finding, related=(place,))
        yield finding


def _is_needed_end(lists: PaddedList) -> bool:
    """Return whether lists are filled up with the token that ends them, of which no
    other place is known.
    """
    name = lists.text.written(lists.node)
    values = find_defining(lists.text, name)
    if isinstance(lists.node, ast.Name):
        name = " ".join([name, *map(lists.text.written, values)])
    if END_TOKEN.search(name) is None:
        return False
    names = {node.id for node in values if isinstance(node, ast.Name)}
    names.add(lists.text.written(lists.node))
    return not any(
        isinstance(node, ast.List)
        and len(node.elts) == 1
        and lists.text.written(node.elts[0]) in names
        and getattr(lists.text.parent(node), "op", None).__class__ is ast.Add
        for node in lists.text.nodes
    )


def _find_padding(scene: HazardContext, call: OperatorCall) -> _Labels | None:
    """Return the labels that a call makes by padding sequences of different lengths."""
    ins = call.op.inputs
    dtype = call.op.outputs[0].dtype if call.op.outputs else ""
    rows = find_padded_rows(scene, call.op) if dtype.startswith("int") else None
    if rows is not None and rows.value == int(rows.value):
        return replace(_Labels(call.op), value=int(rows.value))
    lists = find_padded_list(scene.program, call.op)
    if lists is not None and lists.value >= 0:
        return _Labels(call.op, lists.value, lists)
    if not ins or not all(fact.dtype.startswith("int") for fact in ins):
        return None
    value: object = None
    if call.name == "pad" and call.given(2, "mode", default="constant") == "constant":
        amounts = call.given(1, "pad", default=())
        numbers = tuple(amounts) if isinstance(amounts, list | tuple) else ()
        behind = len(numbers) == 2 and numbers[0] == 0 and numbers[1] > 0
        some = behind and len(ins[0].shape) == 1  # a mask's border may be background
        value = (call.given(3, "value", default=0) or 0) if some else None
    if isinstance(value, int | float) and value == int(value):
        return replace(_Labels(call.op), value=int(value))
    return None


def _is_end_token(scene: HazardContext, op: Op) -> bool:
    """Return whether the text pads with a token that ends a sequence."""
    text_and_call = scene.program.call_at(op.span)
    if text_and_call is None:
        return False
    text, node = text_and_call
    words = [word.value for word in node.keywords if word.arg != "batch_first"]
    values = [*node.args[1:], *words]
    names = [value for value in values if not isinstance(value, ast.Constant)]
    return any(END_TOKEN.search(text.written(name)) for name in names)
