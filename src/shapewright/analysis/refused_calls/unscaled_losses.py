"""Steps of a scaler whose loss was not scaled: `scaler.scale(loss).backward()`."""

from __future__ import annotations

import ast

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

NO_SCALE = "but _scale is None"


def find_unscaled_loss(program: Program, finding: Finding) -> Explanation | None:
    """Return the loss that did not go through the scaler that makes a step, or None."""
    place = program.call_at(finding.span) if NO_SCALE in finding.words else None
    if place is None or not isinstance(place[1].func, ast.Attribute):
        return None
    text, call = place
    owner = get_receiver(call)
    if owner is None:
        return None
    name = text.written(owner)
    losses = _list_losses(text, call)
    message = (
        f"no loss has gone through `{name}.scale`:"
        f" `{name}.{get_called_name(call)}` divides gradients by a scale that they do"
        " not have"
    )
    related = tuple(
        Related(text.span(loss), "this loss is not scaled") for loss in losses
    )
    if not losses or any(
        isinstance(node, ast.Attribute)
        and node.attr == "scale"
        and own.written(node.value) == name
        for own in program.own_texts()
        for node in own.nodes
    ):
        return Explanation(message, related)
    edits = []
    for loss in losses:
        edits.append(Edit(text.span(loss), f"{name}.scale({text.line_of(loss)})"))
    shown = f"`{edits[0].text}.backward()`"
    return Explanation(message, related, (Fix("fits", shown, tuple(edits)),))


def _list_losses(text: SourceText, call: ast.Call) -> list[ast.expr]:
    """Return the losses of the backward passes in the function around a step."""
    losses = []
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "backward":
            continue
        owner = get_receiver(node)
        scope = text.around(node, *FUNCTIONS)
        is_near = scope is text.around(call, *FUNCTIONS)
        if owner is not None and is_near and not node.args:
            losses.append(owner)
    return losses
