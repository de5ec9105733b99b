"""Find last activations whose range the targets are outside of: a `relu` in front of a
loss whose targets are often negative, a `sigmoid` for prices.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import inf, prod

from shapewright.analysis.hazards.action_values import find_values_of_softmax
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, QUOTIENTS
from shapewright.analysis.hazards.signed_targets import find_unsigned_targets
from shapewright.analysis.hazards.value_makers import PASSING, find_value_maker
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNREACHABLE_TARGETS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact

REGRESSIONS = operators_with("warns_of_shapes")
RANGES = values_of("gives_range")
KEEPING = PASSING | {"to", "float", "double", "stack", "astype"}
JOINS = operators_with("joins_tensors")
DIFFERENCES = operators_with("subtracts")
FARTHEST = 24
"""Calls between data and the loss."""
BINARY = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits"})
"""Losses whose targets are probabilities."""
REFUSING = "binary_cross_entropy"
"""That of them that looks at its targets."""
NO_LOWEST = "the loss has no lowest value"
NORMALIZING = {"Normalize": 0, "normalize": 1}
"""What torchvision normalizes with, and where the means stand."""
LEAST_SHARE = 0.1
"""Of the targets outside, for a mistake; fewer may be noise."""


@looks_for(UNREACHABLE_TARGETS)
def find_unreachable_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of predictions that cannot come near many of their targets."""
    yield from find_values_of_softmax(scene)
    yield from _find_no_probabilities(scene)
    yield from find_unsigned_targets(scene)
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in REGRESSIONS or len(call.op.inputs) != 2:
            continue
        prediction, target = call.op.inputs
        if call.op.span in seen or not prediction.requires_grad or target.requires_grad:
            continue
        maker = find_value_maker(scene, prediction)
        if maker is None or maker.name not in RANGES or maker.op.span is None:
            continue
        low, high = RANGES[maker.name]
        outside = _describe_outside(scene, target, low, high)
        if not outside:
            continue
        seen.add(call.op.span)
        name = scene.names(call.op)[0].rsplit(" (", 1)[0]
        bound = f"at least {low:g}"
        if high != inf:
            bound = (
                f"between {low:g} and {high:g}" if low != -inf else f"at most {high:g}"
            )
        yield scene.finding(
            UNREACHABLE_TARGETS,
            call.op,
            f"{name} is {bound} by `{maker.name}`, and {outside}: no"
            " prediction comes near them",
            (maker.op, "the last activation"),
        )


def _find_no_probabilities(scene: HazardContext) -> Iterator[Finding]:
    """Find binary losses whose targets are data beyond 0 and 1, such as masks of 0 and
    255.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in BINARY or len(call.op.inputs) < 2 or call.op.span in seen:
            continue
        low, high = find_limits(scene, call.op.inputs[1])
        if low >= 0 and high <= 1:
            continue
        seen.add(call.op.span)
        reach = f"up to {high:.4g}" if high > 1 else f"down to {low:.4g}"
        if low < 0 and high > 1:
            reach = f"from {low:.4g} to {high:.4g}"
        end = "torch refuses all others" if call.name == REFUSING else NO_LOWEST
        yield scene.finding(
            UNREACHABLE_TARGETS,
            call.op,
            f"{scene.words(call.op)[1]} goes {reach}, and `F.{call.name}` takes targets"
            f" between 0 and 1: {end}",
        )


def find_limits(scene: HazardContext, fact: Fact) -> tuple[float, float]:
    """Return the lowest and the highest number of the data that a tensor holds, both 0
    if something was computed with them.
    """
    limits = [(0.0, 0.0)]
    waiting = [(fact, FARTHEST, False)]
    while waiting:
        current, left, is_part = waiting.pop()
        values = scene.program.data_values.get(current.tensor)
        if values is not None and values.limits is not None:
            limits.append(values.limits)
            continue
        maker = scene.maker(current)
        if maker is None or not left or maker.name not in KEEPING:
            continue
        joins = maker.name in JOINS
        if joins and is_part:
            continue  # of which operand the part is, is not known
        for part in maker.op.inputs[: None if joins else 1]:
            rows = part.shape[1:] == current.shape[1:]  # no columns were chosen
            rows |= not is_part and _is_item(maker, part, current)
            is_whole = prod(part.shape) == prod(current.shape)
            if joins or rows or is_whole:
                is_cut = is_part or not (joins or is_whole)
                waiting.append((part, left - 1, is_cut))
    return min(low for low, _ in limits), max(high for _, high in limits)


def _is_item(maker: OperatorCall, part: Fact, item: Fact) -> bool:
    """Return whether a call takes one row of data by its number, as a data set does."""
    number = maker.given(1)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return maker.op.name == "[]" and is_number and part.shape[1:] == item.shape != ()


def _describe_outside(scene: HazardContext, fact: Fact, low: float, high: float) -> str:
    """Return how many of the targets lie outside of a range, an empty string if few."""
    factor, offset = 1.0, 0.0  # of the targets, of what they were computed from
    column: int | None = None  # of the table that they are taken from
    for _ in range(FARTHEST):
        values = scene.program.data_values.get(fact.tensor)
        if _is_normalized(scene, fact) and low == 0:
            return "`Normalize` takes their mean away: many of the targets are below 0"
        if values is not None:
            known = values.quantiles
            if column is not None:
                known = (*values.column_quantiles[column : column + 1], ())[0]
            numbers = tuple(factor * value + offset for value in known)
            return _count_outside(numbers, low, high)
        maker = scene.maker(fact)
        if fact.dtype == "uint8" or (maker is not None and maker.name == "rand"):
            top = 255 if fact.dtype == "uint8" else 1
            ends = (offset, top * factor + offset)
            return _describe_reach(min(ends), max(ends), low, high)
        if maker is not None and maker.name == "randn" and low == offset == 0:
            return "the targets are drawn by `randn`: about half of them are below 0"
        if maker is None or not maker.op.inputs:
            return ""
        column = _read_column(maker) if column is None else column
        if _is_centred(scene, maker) and low == 0:
            return "the targets are centred: about half of them are below 0"
        change = _read_change(maker)
        if change is not None:
            factor, offset = factor * change[0], offset + factor * change[1]
        is_scaled = maker.name in QUOTIENTS and low == 0 and offset == 0
        is_known = change is not None or (is_scaled and len(maker.op.inputs) == 2)
        if maker.name not in KEEPING and not is_known:
            return ""
        fact = maker.op.inputs[0]
    return ""


def _read_column(call: OperatorCall) -> int | None:
    """Return which column of a table a call takes, if it takes one: `table[:, :1]`."""
    source, result = call.op.inputs[0], call.op.outputs[0]
    items = call.given(1)
    is_table = call.op.name == "[]" and source.ndim == 2 and source.shape[1] > 1
    if not is_table or not isinstance(items, tuple) or len(items) != 2:
        return None
    chosen = items[1][0] if isinstance(items[1], list) and items[1] else items[1]
    if isinstance(chosen, str):
        start = chosen.partition(":")[0] or "0"
        chosen = int(start) if start.lstrip("-").isdecimal() else None
    is_single = result.ndim == 1 or result.shape[1:] == (1,)
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not is_single:
        return None
    return chosen % source.shape[1]


def _read_change(call: OperatorCall) -> tuple[float, float] | None:
    """Return the number by which a call multiplies, and that which it adds, or None."""
    number = call.given(1, "other")
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if len(call.op.inputs) != 1 or not is_number or call.given(2, "alpha"):
        return None
    if call.op.function.rpartition(".")[2].startswith("__r"):
        return None  # `1 - x`
    if call.name in QUOTIENTS:
        return (1 / number, 0.0) if number else None
    if call.name in PRODUCTS:
        return number, 0.0
    if call.name in DIFFERENCES:
        return 1.0, -number
    return (1.0, number) if call.name in ("+", "add") else None


def _is_normalized(scene: HazardContext, fact: Fact) -> bool:
    """Return whether torchvision has taken means above 0 from a tensor."""
    writes = [
        user.name
        for user in scene.users.get(fact.tensor, ())
        if user.op.kind == "inplace" and len(user.op.inputs) == 2
    ]
    if writes[:2] != ["sub_", "div_"]:
        return False
    calls = [
        call
        for text in scene.program.own_texts()
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) in NORMALIZING
    ]
    means = [
        mean
        for call in calls
        for mean in (
            *call.args[NORMALIZING[get_called_name(call)] :][:1],
            *(word.value for word in call.keywords if word.arg == "mean"),
        )
    ]
    numbers = [
        number.value if isinstance(number, ast.Constant) else None
        for mean in means
        for number in (mean.elts if isinstance(mean, ast.Tuple | ast.List) else [mean])
    ]
    return bool(numbers) and all(
        isinstance(number, int | float) and number > 0 for number in numbers
    )


def _describe_reach(least: float, most: float, low: float, high: float) -> str:
    """Return how far numbers reach beyond a range, an empty string if they do not."""
    share = max(low - least, 0, most - high) / ((most - least) or 1)
    if share < LEAST_SHARE:
        return ""
    return f"the targets are scaled to numbers from {least:g} to {most:g}"


def _count_outside(quantiles: tuple[float, ...], low: float, high: float) -> str:
    """Return the share of numbers outside of a range in words; markers are none."""
    below = [value for value in quantiles if value < low]
    above = [value for value in quantiles if value > high]
    for values, words in ((below, f"below {low:g}"), (above, f"above {high:g}")):
        share = len(values) / max(1, len(quantiles))
        if share >= LEAST_SHARE and len(set(values)) > 1:
            return f"about {share:.0%} of the targets are {words}".replace("%", " %")
    return ""


def _is_centred(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call subtracts the mean of a tensor from it."""
    if call.name not in DIFFERENCES or len(call.op.inputs) != 2:
        return False
    mean = scene.maker(call.op.inputs[1])
    return (
        mean is not None
        and mean.name == "mean"
        and mean.op.inputs[0].tensor == call.op.inputs[0].tensor
    )
