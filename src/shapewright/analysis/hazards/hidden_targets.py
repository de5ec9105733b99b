"""Find places that were hidden in place and are to be restored: the target is the same
tensor, so that they are to be restored as what hides them.

A loss of the places that are shown is right. So the mask by which the loss chooses must
be that of the hidden ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.causal_masks import INVERTING
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import MASKED_TARGETS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

SCALES = frozenset({"mul_", "*=", "__imul__"})
FILLS = operators_with("fills_by_mask") | {"[]="}
SAME = operators_with("moves_dims", "keeps_elements", "regroups_dims") | {"[]", "to"}
COMPARING = operators_with("subtracts", "is_elementwise_loss")
CHOOSING = operators_with("is_arithmetic") | {"[]", "masked_select"}
FARTHEST = 8
"""Calls between a difference and the mask that it meets."""


def find_hidden_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of hidden places whose targets were hidden themselves."""
    seen: set[object] = set()
    for write in scene.program.trace.ops:
        hidden = _find_hidden(scene, write)
        if hidden is None or write.span is None or write.span in seen:
            continue
        use = _find_use(scene, write, hidden)
        if use is None:
            continue
        seen.add(write.span)
        message = (
            "this hides the targets too: they are the same tensor as the input, so that"
            " the hidden places are to be restored as what hides them"
        )
        where = "the loss compares with the same tensor here"
        yield scene.finding(MASKED_TARGETS, write, message, (use, where))


def _find_hidden(scene: HazardContext, write: Op) -> int | None:
    """Return the mask of the places that a call writes over in place, or None."""
    masks = [fact for fact in write.inputs[1:] if fact.dtype == "bool"]
    if write.kind != "inplace" or len(masks) != 1:
        return None
    if not write.inputs[0].dtype.startswith("float"):
        return None
    root, is_turned = _find_root(scene, masks[0])
    name = write.name.rpartition(".")[2]
    if name in SCALES:
        return root if is_turned else None
    return root if name in FILLS and len(write.inputs) == 2 and not is_turned else None


def _find_root(scene: HazardContext, mask: Fact) -> tuple[int, bool]:
    """Return the mask of which another is a view, and whether that is its inverse."""
    root, is_turned = mask.tensor, False
    for op in iter_first_makers(scene.program, mask, FARTHEST):
        name = op.name.rpartition(".")[2]
        if (
            not op.inputs
            or name not in SAME | INVERTING
            or op.inputs[0].dtype != "bool"
        ):
            break
        is_turned ^= name in INVERTING
        root = op.inputs[0].tensor
    return root, is_turned


def _find_use(scene: HazardContext, write: Op, hidden: int) -> Op | None:
    """Return the call that compares what was written with a prediction, at the hidden
    places only; None where it does not.
    """
    target = write.inputs[0].tensor
    chosen = {
        call.op.outputs[0].tensor
        for call in scene.users.get(target, ())
        if call.op.index > write.index and _is_chosen(scene, call.op, hidden)
    }
    for tensor in (target, *chosen):
        for call in scene.users.get(tensor, ()):
            if call.op.index < write.index or call.name not in COMPARING:
                continue
            others = [fact for fact in call.op.inputs if fact.tensor != tensor]
            if not any(fact.requires_grad for fact in others):
                continue
            if tensor in chosen or _is_masked(scene, call.op, hidden):
                return call.op
    return None


def _is_masked(scene: HazardContext, op: Op, hidden: int) -> bool:
    """Return whether a mask chooses among the elements of a difference."""
    waiting = list(op.outputs)
    for _ in range(FARTHEST):
        if not waiting:
            return False
        for user in scene.users.get(waiting.pop(0).tensor, ()):
            if _is_chosen(scene, user.op, hidden):
                return True
            waiting += [out for out in user.op.outputs if out.shape]
    return False


def _is_chosen(scene: HazardContext, op: Op, hidden: int) -> bool:
    """Return whether a call keeps the hidden places of its input."""
    return op.name.rpartition(".")[2] in CHOOSING and any(
        fact.dtype == "bool" and _find_root(scene, fact) == (hidden, False)
        for fact in op.inputs[1:]
    )
