"""Find decoders whose input is the same at every position: zeros that nothing adds
positions to, so that each position asks the memory alike and every step is the same.

A table of queries is no such input, nor are zeros with positions, a single query, or
zeros that the program writes to. A mask of the memory tells the positions apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import EQUAL_STEPS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

ATTENTION = "multi_head_attention_forward"
FILLED = operators_with("fills_with") | operators_with("fill_value_at")
IN_PLACE = "_"
"""The last letter of a method that writes to its tensor."""
OF_ELEMENTS = (
    operators_with("computes_each_element")
    | operators_with("broadcasts_operands")
    | operators_with("drops_elements")
    | operators_with("moves_device")
)
OF_ROWS = operators_with("treats_rows_alone")
EXCHANGES = operators_with("transposes_dims")
LOOKUPS = frozenset({"embedding"})


@looks_for(EQUAL_STEPS)
def find_equal_steps(scene: HazardContext) -> Iterator[Finding]:
    """Find attention to a memory whose queries are one row, as often as there are
    positions.
    """
    sources = _collect_equal_rows(scene)
    seen: set[object] = {None}
    for call in scene.calls if sources else ():
        op = call.op
        if call.name != ATTENTION or len(op.inputs) < len(("query", "key", "value")):
            continue
        query, key = op.inputs[:2]
        source = sources.get(query.tensor)
        if source is None or key.tensor in sources or source.span in seen:
            continue
        steps = query.shape[0] if query.shape else 1
        if steps < 2 or _has_mask(call) or not _is_trained(scene, op):
            continue
        seen.add(source.span)
        message = (
            f"the {steps} positions that the decoder begins with are all alike,"
            f" {scene.operation(source)} of {format_shape(source.outputs[0])}, and"
            " nothing adds their places: each asks the memory the same, so that every"
            " step is the same"
        )
        yield scene.finding(
            EQUAL_STEPS, source, message, (op, "the positions ask the memory here")
        )


def _collect_equal_rows(scene: HazardContext) -> dict[int, Op]:
    """Return the tensors whose rows are all alike, each with the call that made the
    numbers.
    """
    sources: dict[int, Op] = {}
    for call in scene.calls:
        op = call.op
        out = op.outputs[0]
        if len(out.shape) < 2 or out.storage in scene.writes:
            continue
        if call.name in FILLED and not call.name.endswith(IN_PLACE):
            sources[out.tensor] = op
        elif op.inputs and _has_equal_rows(call, sources):
            source = next(
                sources[fact.tensor] for fact in op.inputs if fact.tensor in sources
            )
            sources[out.tensor] = source
    return sources


def _has_equal_rows(call: OperatorCall, sources: dict[int, Op]) -> bool:
    """Return whether the rows of a result are alike as those of its operands are."""
    op, first = call.op, call.op.inputs[0]
    if call.name in LOOKUPS:
        return any(
            fact.tensor in sources and not fact.dtype.startswith("float")
            for fact in op.inputs[:2]
        )
    if call.name == ATTENTION:
        return all(fact.tensor in sources for fact in op.inputs[:3])
    if call.name in OF_ROWS:
        return first.tensor in sources
    if call.name in EXCHANGES:
        is_last_kept = first.shape[-1] == op.outputs[0].shape[-1]
        return first.tensor in sources and is_last_kept and len(first.shape) > 2
    if call.name not in OF_ELEMENTS:
        return False
    return any(fact.tensor in sources for fact in op.inputs) and all(
        fact.tensor in sources or _is_one_row(fact) for fact in op.inputs
    )


def _is_one_row(fact: Fact) -> bool:
    """Return whether a tensor is a number or one row, which all others get alike."""
    return all(size == 1 for size in fact.shape[:-1])


def _has_mask(call: OperatorCall) -> bool:
    """Return whether an attention hides parts of the memory from some queries."""
    return call.arguments.get("attn_mask", "a tensor") is not None


def _is_trained(scene: HazardContext, op: Op) -> bool:
    """Return whether a loss and a backward pass follow a call that has a graph."""
    if not any(fact.requires_grad for fact in op.outputs):
        return False
    behind = scene.program.trace.ops[op.index :]
    names = {later.name.rpartition(".")[2] for later in behind}
    return "backward" in names and bool(names & ALL_LOSSES)
