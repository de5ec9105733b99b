"""Find numbers of samples that scale columns: `(B,)` times `(B, C, H, W)`, B equal W;
and masks of samples, `(B,)`, that meet a column of losses, `(B, 1)`.

A vector as long as the last dim is right for a scale of columns. So it must be looked
up by an index that a model also takes, one for each sample: the time of a diffusion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import ARITHMETIC, HazardContext
from shapewright.analysis.hazards.loss_terms import find_base
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OUTER_BROADCAST
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op, collect_leaves

LOOKUPS = operators_with("reads_by_index")


def find_scaled_columns(scene: HazardContext) -> Iterator[Finding]:
    """Find coefficients of samples that meet the last dim of images."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in ARITHMETIC or len(call.op.inputs) != 2:
            continue
        for at, (vector, image) in enumerate((call.op.inputs, call.op.inputs[::-1])):
            if call.op.span is None or call.op.span in seen:
                continue
            count = vector.shape[0] if vector.ndim == 1 else 0
            if image.ndim < 3 or count < 2:
                continue
            if image.shape[0] != count or image.shape[-1] != count:
                continue
            lookup = scene.maker(find_base(scene, vector))
            if lookup is None or lookup.name not in LOOKUPS:
                continue
            embedding = _find_model(scene, lookup, count)
            if embedding is None:
                continue
            seen.add(call.op.span)
            names = _list_operands(scene, call)
            message = (
                f"{names[at]} has a number for each of {count} samples, and meets the"
                f" last dim of {names[1 - at]} {format_shape(image)}: it scales"
                " columns, not samples"
            )
            yield scene.finding(
                OUTER_BROADCAST,
                call.op,
                message,
                (lookup.op, "a number for each sample is looked up here"),
                (embedding, "the model takes the same index for each sample here"),
            )


MASKING = operators_with("fills_by_mask") - {"+", "add"} | {"masked_select"}
CASTS = operators_with("leads_to_softmax") | {"type", "type_as"}
ELEMENTWISE = operators_with("computes_each_element", "negates", "leads_to_loss")


def find_masked_columns(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of samples that meet a column: all of them mask each sample."""
    seen: set[object] = {None}
    for call in scene.calls:
        is_product = call.name in ("*", "mul") and len(call.op.inputs) == 2
        if call.op.span in seen or not (is_product or call.name in MASKING):
            continue
        columns = [f for f in call.op.inputs if f.ndim == 2 and f.shape[1] == 1]
        masks = [f for f in call.op.inputs if f.ndim == 1 and _is_mask(scene, f)]
        if len(columns) != 1 or len(masks) != 1:
            continue
        column, mask = columns[0], masks[0]
        count = mask.shape[0]
        if column.shape[0] != count or count < 2 or not column.requires_grad:
            continue
        gathered = _find_gather(scene, column)
        if is_product and gathered is None:
            continue
        seen.add(call.op.span)
        names = scene.names(call.op)
        places = [[f.tensor for f in call.op.inputs].index(f.tensor)
                  for f in (column, mask)]  # fmt: skip
        message = (
            f"{scene.operation(call.op)} of {names[places[0]]} and {names[places[1]]}"
            f" makes ({count}, {count}): each of the {count} samples is masked by all"
            " of them, and the mask hides none"
        )
        maker = gathered or scene.maker(column)
        words = f"{names[places[0]]} was made here"
        place = (maker.op if maker is not None else None, words)
        yield scene.finding(OUTER_BROADCAST, call.op, message, place)


def _is_mask(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds truths, perhaps as the numbers 0 and 1."""
    for _ in range(4):
        if fact.dtype == "bool":
            return True
        call = scene.maker(fact)
        if call is None or call.name not in CASTS or len(call.op.inputs) != 1:
            return False
        fact = call.op.inputs[0]
    return False


def _find_gather(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that chose one score of each sample, of which a column was
    computed element by element.
    """
    for _ in range(6):
        call = scene.maker(fact)
        if call is None or call.name == "gather":
            return call
        if call.name not in ELEMENTWISE or call.op.inputs[0].shape != fact.shape:
            return None
        fact = call.op.inputs[0]
    return None


def _list_operands(scene: HazardContext, call: OperatorCall) -> list[str]:
    """Return both operands of a call as they are written, or their names."""
    place = scene.program.node(call.op.span)
    if place is not None and isinstance(place[1], ast.BinOp):
        sides = place[1].left, place[1].right
        return [f"`{place[0].line_of(side)}`" for side in sides]
    return scene.words(call.op)


def _find_model(scene: HazardContext, lookup: OperatorCall, count: int) -> Op | None:
    """Return the call in a model that takes the index of a lookup with as many rows."""
    if len(lookup.op.inputs) != 2 or lookup.op.inputs[1].shape != (count,):
        return None
    index = find_base(scene, lookup.op.inputs[1]).tensor
    for call in scene.program.trace.calls:
        facts = list(collect_leaves(call.inputs))
        if not any(_has_base(scene, fact, index) for fact in facts):
            continue
        if any(fact.ndim > 2 and fact.shape[0] == count for fact in facts):
            return scene.program.trace.ops[call.ops[0]]
    return None


def _has_base(scene: HazardContext, fact: Fact, tensor: int) -> bool:
    return find_base(scene, fact).tensor == tensor
