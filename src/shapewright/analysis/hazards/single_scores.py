"""Find a choice among one class: `argmax` or a cross entropy of a layer's only output.

A softmax of it is reported as a softmax along the wrong axis.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.findings.codes import SINGLE_CLASS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.source_text import find_defining
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Fact, Op

CHOOSING = operators_with("returns_values_and_indices")
KEEPING = PASSING | frozenset(values_of("gives_values")) | {"float", "detach", "cpu"}
LAYERS = operators_with("is_convolution") | {"linear"}
FARTHEST = 8


@looks_for(SINGLE_CLASS)
def find_single_classes(scene: HazardContext) -> Iterator[Finding]:
    """Find classes that are chosen among one."""
    seen: set[object] = set()
    for call in scene.calls:
        if _is_of_one_label(call) and call.op.span not in seen:
            seen.add(call.op.span)
            yield scene.finding(
                SINGLE_CLASS,
                call.op,
                f"{scene.operation(call.op)} of {format_shape(call.op.inputs[0])} is"
                " always 0: it looks for the place of the largest among one value,"
                " which is the class itself",
            )
            continue
        result = _get_constant(scene, call)
        if not result or call.op.span is None or call.op.span in seen:
            continue
        layer = _find_layer(scene, call.op.inputs[0])
        if layer is None or not _is_built_for_one(scene, layer):
            continue
        seen.add(call.op.span)
        shape = format_shape(call.op.inputs[0])
        yield scene.finding(
            SINGLE_CLASS,
            call.op,
            f"{scene.operation(call.op)} of {shape} runs over the single output of"
            f" {scene.operation(layer)}: {result}",
            (layer, "the layer with one output"),
        )


def _is_of_one_label(call: OperatorCall) -> bool:
    """Return whether an `argmax` runs over a single class number, of one sample or of
    each.
    """
    op = call.op
    if call.name != "argmax" or op.span is None or not op.inputs:
        return False
    fact = op.inputs[0]
    if fact.dtype not in ("int64", "int32", "uint8"):
        return False
    gone = find_reduced_dims(call)
    is_of_rows = gone is not None and list(gone) == [1] and fact.shape[1:] == (1,)
    return fact.shape == () or is_of_rows


def _get_constant(scene: HazardContext, call: OperatorCall) -> str:
    """Return what a call over a dim of size 1 always results in, in words."""
    op = call.op
    if not op.inputs or not op.inputs[0].dtype.startswith(("float", "bf")):
        return ""
    shape = op.inputs[0].shape
    if len(shape) < 2 or max(shape) < 2:
        return ""
    channel = 1 if len(shape) == 4 else len(shape) - 1
    if call.name == "cross_entropy":
        target = op.inputs[1]
        is_one = shape[1] == 1 and (
            target.dtype.startswith("int") or target.shape == shape
        )
        return "the loss is 0 whatever it says" if is_one else ""
    if call.name == "log_softmax":
        at = find_softmax_dim(call)
        is_one = at in (channel, 1) and shape[1 if at == 1 else channel] == 1
        return "its only log-probability is always 0" if is_one else ""
    if call.name not in CHOOSING | {"argmax"}:
        return ""
    gone = find_reduced_dims(call)
    if gone is None or list(gone) not in ([channel], [len(shape) - 1]):
        return ""
    if shape[gone[0]] != 1:
        return ""
    if call.name in CHOOSING and not (
        len(op.outputs) == 2 and op.outputs[1].tensor in scene.users
    ):
        return ""
    return "the class is always 0"


def _find_layer(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the layer whose output a tensor is, seen through activations."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in LAYERS:
            return maker.op
        if maker.name not in KEEPING or len(maker.op.inputs) > 1:
            return None
        fact = maker.op.inputs[0]
    return None


def _is_built_for_one(scene: HazardContext, layer: Op) -> bool:
    """Return whether the text gives a layer one output, by a number or by a name that
    always stands for it.
    """
    if len(layer.inputs) < 2 or layer.inputs[1].shape[:1] != (1,):
        return False
    built = scene.program.built.get(layer.module)
    text_and_call = scene.program.call_at(built.span if built is not None else None)
    if text_and_call is None:
        return False
    text, node = text_and_call
    words = {word.arg: word.value for word in node.keywords}
    size = words.get("out_features") or words.get("out_channels")
    size = size or (node.args[1] if len(node.args) > 1 else None)
    if size is None and node.args:  # a lazy layer
        size = node.args[0]
    values = [size]
    if isinstance(size, ast.Name | ast.Attribute):
        values = list(find_defining(text, get_last_name(size)))
    return bool(values) and all(
        isinstance(value, ast.Constant) and value.value == 1 for value in values
    )
