"""Find scores of attention that are scaled by the root of another number than that of
the features that they sum over: the width of all heads, or multiplied by the root.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.causal_masks import FILLS
from shapewright.analysis.hazards.context import ARITHMETIC, HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, QUOTIENTS
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    PRODUCTS as MATRIX_PRODUCTS,
)
from shapewright.analysis.provenance.layer_axes import find_contraction
from shapewright.findings.codes import SCORE_SCALE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import find_defining
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Fact, Op

FUSED = "scaled_dot_product_attention"
FARTHEST = 16
"""Calls between a softmax and the layers that its queries and keys come from."""
ONWARD = PASSING | FILLS | operators_with("splits", "transposes_dims", "keeps_elements")
ROOT = re.compile(r"sqrt|(\*\*\s*|pow\(.*)\(?\s*-?\s*(0?\.25|0?\.5|1\s*/\s*2)")
"""How a root is written."""


@dataclass(slots=True)
class _Scale:
    """The number by which scores are multiplied in all, and the calls that do so."""

    number: float
    calls: list[OperatorCall]


@looks_for(SCORE_SCALE)
def find_score_scales(scene: HazardContext) -> Iterator[Finding]:
    """Find `q @ k.transpose(-2, -1) * width ** -0.5` of queries of one head."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in ("softmax", FUSED) or not call.op.inputs:
            continue
        scale = _Scale(1.0, [])
        product = _find_product(scene, call, scale)
        count = _count_features(product) if product is not None else 0
        if product is None or count < 2:
            continue
        widths = [_find_width(scene, fact, scale) for fact in product.op.inputs[:2]]
        place = scale.calls[0].op if scale.calls else None
        if None in widths or place is None or place.span in seen:
            continue
        what = _describe(scale.number, count, *map(set, filter(None, widths)))
        is_root = any(_is_root(scene.program, part.op) for part in scale.calls)
        if not what or not is_root:
            continue
        seen.add(place.span)
        message = f"the scores are sums over {count} features, and are {what}"
        where = "they are summed here"
        yield scene.finding(SCORE_SCALE, place, message, (product.op, where))


def _find_product(
    scene: HazardContext, call: OperatorCall, scale: _Scale
) -> OperatorCall | None:
    """Return the product of queries and keys that a softmax reads, and read on the way
    by which numbers it is multiplied.
    """
    if call.name == FUSED:
        number = call.arguments.get("scale")
        if not isinstance(number, float) or not scene.in_user_code(call.op):
            return None
        scale.number *= number
        scale.calls.append(call)
        return call
    fact = call.op.inputs[0]
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in MATRIX_PRODUCTS or maker.name == "einsum":
            is_own = scene.in_user_code(maker.op) and len(maker.op.inputs) == 2
            return maker if is_own else None
        if not _read_scale(maker, scale):
            return None
        fact = maker.op.inputs[0]
    return None


def _count_features(product: OperatorCall) -> int:
    """Return how many features a product sums over, or 0."""
    if product.name == FUSED:
        return product.op.inputs[0].shape[-1]
    sums = find_contraction(product)
    sizes = [axis.size for dim in sums.left for axis in dim] if sums is not None else []
    return math.prod(sizes) if sizes else 0


def _read_scale(call: OperatorCall, scale: _Scale) -> bool:
    """Return whether a call keeps what a tensor holds, apart from a number that it is
    multiplied by, and read this number.
    """
    inputs = call.op.inputs
    if call.name not in PRODUCTS | QUOTIENTS:
        others = [fact for fact in inputs[1:] if fact.numel == 1]
        is_sum = call.name in ARITHMETIC and len(inputs) == 2 and not others
        return call.name in ONWARD or is_sum
    if len(inputs) == 2:
        # A rotation of positions turns queries; a learned scale is a choice.
        return call.name in PRODUCTS and inputs[1].numel > 1
    number = call.given(1, "other", default=call.given(0))
    if not isinstance(number, int | float) or not number:
        return False
    if call.name in QUOTIENTS and call.op.function.endswith("__rtruediv__"):
        return False
    scale.number *= 1 / number if call.name in QUOTIENTS else number
    scale.calls.append(call)
    return True


def _find_width(scene: HazardContext, fact: Fact, scale: _Scale) -> list[int] | None:
    """Return the sizes of what a layer reads and returns that makes queries or keys of
    its input: for queries alone, or with keys, and values; None if none makes them.
    """
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        weight = maker.op.inputs[1] if len(maker.op.inputs) > 1 else None
        if maker.name == "linear" and weight is not None and weight.ndim == 2:
            out, width = weight.shape
            return [width, *(out // part for part in (1, 2, 3) if out % part == 0)]
        if maker.name in MATRIX_PRODUCTS and weight is not None and weight.is_leaf:
            return [weight.shape[-2]] if weight.ndim > 1 else None
        if not _read_scale(maker, scale):
            return None
        fact = maker.op.inputs[0]
    return None


def _describe(number: float, count: int, *widths: set[int]) -> str:
    """Return in words by what scores are scaled, if it is the root of a width of the
    layers behind both queries and keys, or multiplies them; else an empty string.
    """
    common = set.intersection(*widths)
    wider = [width for width in common if width > count and width % count == 0]
    for size in (count, *wider):
        if math.isclose(number * number, size, rel_tol=1e-4):
            return (
                f"multiplied by the root of {size}: it should divide them, and their"
                f" softmax is next to one-hot; `{count} ** -0.5` keeps their deviation"
            )
    for size in wider:
        if math.isclose(number * number * size, 1, rel_tol=1e-4):
            return (
                f"divided by the root of {size}, the width of all heads: they are"
                f" smaller by the root of {size // count}, and their softmax is too"
                f" flat; `{count} ** -0.5` keeps their deviation"
            )
    return ""


def _is_root(program: Program, op: Op) -> bool:
    """Return whether the text takes a root for the number of a call."""
    place = program.node(op.span)
    if place is None:
        return False
    text, node = place
    written = [text.written(node)]
    for part in ast.walk(node):
        name = get_last_name(part) if isinstance(part, ast.Name | ast.Attribute) else ""
        written += [text.written(value) for value in find_defining(text, name)[:4]]
    return any(ROOT.search(words) for words in written)
