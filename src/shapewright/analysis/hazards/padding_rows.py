"""Find embeddings whose row of padding is drawn anew: `padding_idx` makes it zero once,
and keeps its gradient away, so that it stays as it was drawn.

Where padding is masked its row has no effect: so the rows must be added up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.equal_units import find_kinds, get_set_weight
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOADED_WEIGHTS_LOST
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_own_attribute

DRAWING = operators_with("is_random") | {
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
    "kaiming_normal_", "trunc_normal_", "orthogonal_",
}  # fmt: skip
SUMS = operators_with("adds_up_elements")


def find_drawn_padding(scene: HazardContext) -> Iterator[Finding]:
    """Find draws of embeddings with a row of padding, whose rows are added up."""
    layers = dict(_iter_padded_layers(scene))
    if not layers:
        return
    for text in scene.program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) not in DRAWING:
                continue
            weight = get_set_weight(text, call)
            if weight is None or weight.attr != "weight":
                continue
            name = get_own_attribute(weight.value)
            path = next((p for p in layers if p.rpartition(".")[2] == name), "")
            if not name and "Embedding" in find_kinds(text, call, weight.value):
                path = next(iter(layers))
            if not path or _has_written_row(text):
                continue
            message = (
                f"`{text.written(weight)}` is drawn anew behind `padding_idx`: the row"
                f" of padding of `{path}` is not 0 any more, gets no gradient, and"
                " is added up with those of the words"
            )
            span = layers[path].op.span
            related = (Related(span, "they are added up here"),) if span else ()
            place = text.span(call)
            yield Finding(
                LOADED_WEIGHTS_LOST, "warning", message, place, related=related
            )


def _iter_padded_layers(scene: HazardContext) -> Iterator[tuple[str, OperatorCall]]:
    """Yield the path of each embedding with a row of padding whose steps are added up,
    and the sum.
    """
    for call in scene.calls:
        padding = call.arguments.get("padding_idx")
        if call.name != "embedding" or type(padding) is not int or not call.op.module:
            continue
        result = call.op.outputs[0]
        for user in scene.users.get(result.tensor, ()):
            dim = user.given(1, "dim")
            if user.name not in SUMS or type(dim) is not int or result.ndim < 3:
                continue
            if dim % result.ndim == result.ndim - 2:
                yield call.op.module, user


def _has_written_row(text: SourceText) -> bool:
    """Return whether a program writes a row of a weight, or speaks of the padding of a
    layer where it draws weights.
    """
    for node in text.nodes:
        inner = node.value if isinstance(node, ast.Subscript) else None
        while isinstance(inner, ast.Attribute) and inner.attr == "data":
            inner = inner.value
        if isinstance(inner, ast.Attribute) and inner.attr == "weight":
            return True
        if isinstance(node, ast.Attribute) and "padding_idx" in node.attr:
            return True
    return False
