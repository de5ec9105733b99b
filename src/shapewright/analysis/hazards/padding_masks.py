"""Find masks of padding that compare tokens with the padding of another vocabulary.

Tokens are compared with many ids. So the program must call the id a padding, and the
layer that embeds the same tokens must have another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.class_labels import EQUALITY
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OTHER_PADDING, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import get_last_name


@looks_for(OTHER_PADDING)
def find_other_padding(scene: HazardContext) -> Iterator[Finding]:
    """Find tokens compared with a padding index that is not that of their embedding."""
    embedded: dict[int, list[tuple[int, OperatorCall]]] = {}
    for call in scene.calls:
        padding = call.given(2, "padding_idx") if call.name == "embedding" else None
        if isinstance(padding, int) and len(call.op.inputs) == 2:
            rows = call.op.inputs[1].shape[0]
            tokens = call.op.inputs[0].storage
            embedded.setdefault(tokens, []).append((padding % rows, call))
    seen: set[object] = set()
    for call in scene.calls if embedded else ():
        if call.name not in EQUALITY or len(call.op.inputs) != 1:
            continue
        number = call.given(1, "other", default=call.given(0))
        layers = embedded.get(call.op.inputs[0].storage, [])
        if not layers or type(number) is not int or call.op.span in seen:
            continue
        if any(padding == number for padding, _ in layers):
            continue
        name = _find_padding_name(scene, call)
        if not name:
            continue
        seen.add(call.op.span)
        padding, layer = layers[0]
        message = (
            f"`{name}` is {number}, but the padding of {scene.words(call.op)[0]} is"
            f" {padding}, that of {scene.operation(layer.op)}: the mask hides another"
            " token and shows the padding"
        )
        words = f"the tokens are embedded here, with `padding_idx={padding}`"
        yield scene.finding(OTHER_PADDING, call.op, message, (layer.op, words))


def _find_padding_name(scene: HazardContext, call: OperatorCall) -> str:
    """Return what the program calls the number that tokens are compared with, if that
    is a padding, else an empty string.
    """
    place = scene.program.node(call.op.span)
    if place is None:
        return ""
    text, node = place
    values: list[ast.expr] = []
    if isinstance(node, ast.Call):
        values = node.args
    elif isinstance(node, ast.Compare):
        values = [node.left, *node.comparators]
    for value in values:
        if "pad" in get_last_name(value).lower().split("_"):
            return text.line_of(value)
        if get_last_name(value).lower().startswith(("pad_", "padding")):
            return text.line_of(value)
    return ""
