"""Find distributions over classes that are given scores for probabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import LINEAR, find_value_maker
from shapewright.findings.codes import LOSS_INPUT
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import get_called_name

DISTRIBUTIONS = frozenset({"Bernoulli", "Categorical", "OneHotCategorical"})
"""Distributions whose first argument is `probs`, and whose second is `logits`."""


def find_scores_as_probabilities(scene: HazardContext) -> Iterator[Finding]:
    """Find `Categorical(scores)` of what a layer returns, which may be negative."""
    seen: set[object] = set()
    for call in scene.calls:
        span = call.op.span
        if span is None or span in seen or not call.op.inputs:
            continue
        seen.add(span)  # the first call at a place reads what it was given
        text_and_call = scene.program.call_at(span)
        if text_and_call is None:
            continue
        text, node = text_and_call
        if get_called_name(node) not in DISTRIBUTIONS:
            continue
        value = get_probabilities(node)
        maker = find_value_maker(scene, call.op.inputs[0])
        if value is None or maker is None or maker.name not in LINEAR:
            continue
        line = f" at line {maker.op.span.line}" if maker.op.span is not None else ""
        message = (
            f"`{get_called_name(node)}` takes probabilities, but"
            f" `{text.line_of(value)}` holds logits of `{maker.name}`{line}: a negative"
            " one is refused, and the others are not what was meant"
        )
        label = "the scores are made here"
        yield scene.finding(LOSS_INPUT, call.op, message, (maker.op, label))


def get_probabilities(node: ast.Call) -> ast.expr | None:
    """Return what the call of a distribution is given as `probs`."""
    named = [word.value for word in node.keywords if word.arg == "probs"]
    return node.args[0] if node.args else (named[0] if named else None)
