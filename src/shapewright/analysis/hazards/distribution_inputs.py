"""Find distributions that are given scores for probabilities, or logarithms for
deviations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import QUOTIENTS
from shapewright.analysis.hazards.value_makers import (
    FARTHEST,
    LINEAR,
    PASSING,
    find_value_maker,
)
from shapewright.findings.codes import LOSS_INPUT
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact

DISTRIBUTIONS = frozenset({"Bernoulli", "Categorical", "OneHotCategorical"})
"""Distributions whose first argument is `probs`, and whose second is `logits`."""
WITH_SCALE = frozenset({"Normal", "Laplace", "LogNormal", "Cauchy"})
"""Distributions whose second argument is a deviation, or a scale like one."""


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


def find_scores_as_weights(scene: HazardContext) -> Iterator[Finding]:
    """Find `torch.multinomial(scores, 1)` of what a layer returns."""
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name != "multinomial" or not op.inputs or op.span in seen:
            continue
        maker = find_value_maker(scene, op.inputs[0])
        if maker is not None and maker.name in QUOTIENTS and maker.op.inputs:
            maker = find_value_maker(scene, maker.op.inputs[0])  # a temperature
        if maker is None or maker.name not in LINEAR or op.span is None:
            continue
        seen.add(op.span)
        words = scene.words(op)[0]
        message = (
            f"`torch.multinomial` takes probabilities, but {words} holds logits of"
            f" `{maker.name}`: a negative one is refused, `softmax` makes probabilities"
        )
        related = (maker.op, "the scores are made here")
        yield scene.finding(LOSS_INPUT, op, message, related)


def get_probabilities(node: ast.Call) -> ast.expr | None:
    """Return what the call of a distribution is given as `probs`."""
    named = [word.value for word in node.keywords if word.arg == "probs"]
    return node.args[0] if node.args else (named[0] if named else None)


def find_logarithms_as_deviations(scene: HazardContext) -> Iterator[Finding]:
    """Find `Normal(mean, log_std)`: a deviation is positive, its logarithm is not."""
    seen: set[object] = set()
    for call in scene.calls:
        span = call.op.span
        if span is None or span in seen or len(call.op.inputs) < 2:
            continue
        text_and_call = scene.program.call_at(span)
        if text_and_call is None or call.name != "broadcast_tensors":
            continue
        seen.add(span)
        text, node = text_and_call
        scale = get_scale(node)
        if get_called_name(node) not in WITH_SCALE or scale is None:
            continue
        fact = call.op.inputs[1]
        maker = find_value_maker(scene, fact)
        name = _find_logarithm(scene, fact, scale) if maker is None else ""
        is_linear = maker is not None and maker.name in LINEAR
        if not is_linear and not name:
            continue
        what = f"is the logarithm `{name}`" if name else "comes from a layer as it is"
        message = (
            f"`{get_called_name(node)}` takes a standard deviation, which is positive,"
            f" but `{text.line_of(scale)}` {what}: `exp` of it is one"
        )
        related = (maker.op if maker is not None else None, "it is computed here")
        yield scene.finding(LOSS_INPUT, call.op, message, related)


def get_scale(node: ast.Call) -> ast.expr | None:
    """Return what the call of a distribution is given as `scale`."""
    named = [word.value for word in node.keywords if word.arg == "scale"]
    return node.args[1] if len(node.args) > 1 else (named[0] if named else None)


def _find_logarithm(scene: HazardContext, fact: Fact, scale: ast.expr) -> str:
    """Return the name of a parameter that says of itself that it is a logarithm."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None:
            break
        if not maker.op.inputs or maker.name not in PASSING:
            return ""
        fact = maker.op.inputs[0]
    if not fact.requires_grad or not fact.is_leaf:
        return ""
    names = [
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
        for part in ast.walk(scale)
    ]
    return next((name for name in names if name.startswith("log")), "")
