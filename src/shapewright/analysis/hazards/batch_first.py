"""Find layers that take the batch dim for time, or time steps taken from the batch.

A recurrent layer and attention say which dim of what they are given is the batch:
`batch_first` decides. Where the program then treats that dim as time (its last step is
taken, it is averaged, positions are added along it), one of the two is wrong.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.causal_masks import SHOWN, is_range
from shapewright.analysis.hazards.context import RECURRENT, Claim, HazardContext
from shapewright.analysis.hazards.convolved_features import find_convolved_features
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Axis, Dims
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.analysis.provenance.layer_axes import (
    CONVOLUTIONS,
    STATISTICS,
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import BATCH_AXIS, LAYOUT, WRONG_AXIS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.syntax_nodes import (
    get_dotted_name,
    get_shape_owner,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

BATCH_FIRST = re.compile(
    r"[(\[]\s*(batch\w*|bsz|bs|b|n)\s*,\s*(time\w*|seq\w*|steps?|t|l|s|len\w*|frames?)"
    r"\s*,",
    re.IGNORECASE,
)
TIME_FIRST = re.compile(
    r"[(\[]\s*(time\w*|seq\w*|steps?|t|l|s|len\w*|frames?)\s*,\s*"
    r"(batch\w*|bsz|bs|b|n)\b",
    re.IGNORECASE,
)


@looks_for(LAYOUT)
def find_wrong_layouts(scene: HazardContext) -> Iterator[Finding]:
    """Report evidence that a layer takes the wrong dim for the batch."""
    reported: set[object] = set()
    yield from find_convolved_features(scene)
    for claim in scene.claims:
        if claim.role != "batch" or not _is_sequence(claim) or claim.axis.size < 2:
            continue
        evidence = _find_evidence(scene, claim)
        if evidence is None:
            continue
        finding, key = evidence
        if key not in reported:
            reported.add(key)
            yield finding


def _is_sequence(claim: Claim) -> bool:
    name = claim.call.name
    return name in RECURRENT or name == "multi_head_attention_forward"


def _find_evidence(scene: HazardContext, claim: Claim) -> tuple[Finding, object] | None:
    """Return the first evidence that a layer takes the wrong dim for the batch, or
    None.
    """
    time_first = claim.dim == 1
    for fact in claim.call.op.outputs[1:]:
        for call in scene.users.get(fact.tensor, ()):
            if call.name == "[]" and _find_step(call, claim.axis) == -1:
                return _report_state(scene, claim, call)
    for call in _iter_later_uses(scene, claim):
        if call.name in ("[]", "select"):
            item = _find_step(call, claim.axis)
            if item is None:
                continue
            token = item == 0 and claim.call.name not in RECURRENT
            if time_first and (item == -1 or token):
                return _report_layer(
                    scene, claim, call.op, f"its dim 1 is taken at {item}"
                )
            if item == -1 and not time_first:
                return _report_step(scene, claim, call)
        elif time_first and call.name in STATISTICS and _is_averaged(call, claim.axis):
            return _report_layer(
                scene, claim, call.op, f"`{call.op.name}` runs along dim 1"
            )
    if time_first:
        place = _find_position_table(scene, claim.axis)
        if place is not None:
            return _report_layer(
                scene, claim, place.op, "positions are added along its dim 1"
            )
        if _has_merged_samples(scene, claim):
            return _report_layer(
                scene, claim, None, "its dim 0 joins the samples with another dim"
            )
        if _has_loaded_samples(scene, claim):
            why = "dim 0 holds the samples of a loader's batch"
            return _report_layer(scene, claim, None, why)
        maps = _find_samples_of_maps(scene, claim)
        if maps is not None:
            why = f"dim 0 holds the samples of {scene.operation(maps)}"
            return _report_layer(scene, claim, maps, f"{why}, and dim 1 its channels")
        line = _find_unpacking(scene, claim)
        if line:
            return _report_layer(scene, claim, None, f"the text says `{line}`")
        line = _find_comment(scene, claim)
        if line:
            return _report_layer(scene, claim, None, f"a comment says `{line}`")
        return None
    place = _find_position_table(scene, claim.axis)
    return _report_positions(scene, claim, place) if place is not None else None


def _has_merged_samples(scene: HazardContext, claim: Claim) -> bool:
    """Return whether what a layer takes for time joins the samples with another dim, as
    in `x.view(batch * rows, columns, width)`.
    """
    dims = claim.call.dims[0]
    if not dims or len(dims[0]) < 2 or any(axis.kind == "parts" for axis in dims[0]):
        return False
    root = dims[0][0].root
    return claim.axis.root is not root and any(
        other.role == "batch"
        and other.axis.root is root
        and other.call is not claim.call
        for other in scene.claims
    )


def _has_loaded_samples(scene: HazardContext, claim: Claim) -> bool:
    """Return whether what a layer takes for time counts the samples that a loader gave,
    and what it takes for the batch counts something else.
    """
    dims = claim.call.dims[0]
    if len(dims[0]) != 1 or dims[0][0].size < 2 or claim.axis.size < 2:
        return False
    loaded = [axis.root for axis in scene.flow.samples.values()]
    time, batch = dims[0][0].root, claim.axis.root
    is_other = batch.data and claim.axis.size != dims[0][0].size
    is_loaded = any(axis is time for axis in loaded)
    return is_other and is_loaded and all(axis is not batch for axis in loaded)


def _find_samples_of_maps(scene: HazardContext, claim: Claim) -> Op | None:
    """Return the convolution whose samples a layer takes for time, where it takes the
    channels that the convolution computed for the batch, or None.
    """
    time = claim.call.dims[0][0]
    if len(time) != 1 or time[0].kind == "parts" or time[0].size < 2:
        return None
    if claim.axis.kind != "feature":
        return None
    for other in reversed(scene.claims):
        is_map = other.role == "batch" and other.call.name in CONVOLUTIONS
        earlier = other.call.op.index < claim.call.op.index
        if is_map and earlier and other.axis is time[0]:
            channels = scene.flow.of(other.call.op.outputs[0])[1]
            return other.call.op if channels == (claim.axis,) else None
    return None


def _iter_later_uses(scene: HazardContext, claim: Claim) -> Iterator[OperatorCall]:
    """Yield the calls on a layer's output, also after ops that keep its dims."""
    waiting = [fact.tensor for fact in claim.call.op.outputs[:1]]
    seen = set(waiting)
    while waiting:
        tensor = waiting.pop(0)
        for call in scene.users.get(tensor, ()):
            if call.op.index <= claim.call.op.index:
                continue
            yield call
            for fact in call.op.outputs[:1]:
                if fact.tensor not in seen and _is_batch_in_place(
                    scene.flow.of(fact), claim
                ):
                    seen.add(fact.tensor)
                    waiting.append(fact.tensor)


def _is_batch_in_place(dims: Dims, claim: Claim) -> bool:
    """Return whether a tensor still has the batch in the dim in which the layer has
    it.
    """
    at = claim.dim
    return len(dims) == 3 and len(dims[at]) == 1 and dims[at][0] is claim.axis


def _find_step(call: OperatorCall, axis: Axis) -> int | None:
    """Return the integer with which an index selects from an axis, or None."""
    dims = call.dims[0]
    if call.name == "select":
        at, item = call.given(1, "dim"), call.given(2, "index")
        own = dims[at]
        return item if len(own) == 1 and own[0] is axis and len(dims) == 3 else None
    items = get_items(call)
    if items is None or len(dims) != 3 or "..." in items or None in items:
        return None
    for item, dim in zip(items, dims, strict=False):
        if len(dim) == 1 and dim[0] is axis:
            return item if type(item) is int else None
        if item != ":":
            return None
    return None


def _is_averaged(call: OperatorCall, axis: Axis) -> bool:
    """Return whether a reduction runs along this axis only."""
    gone = find_reduced_dims(call)
    dims = call.dims[0]
    if gone is None or len(gone) != 1 or len(dims) != 3:
        return False
    dim = dims[gone[0]]
    return len(dim) == 1 and dim[0] is axis


def _find_position_table(scene: HazardContext, axis: Axis) -> OperatorCall | None:
    """Return the call that adds a table of positions along an axis, or None."""
    for call in scene.calls:
        if (
            call.name not in ("+", "add", "+=", "add_", "__add__")
            or len(call.dims) != 2
        ):
            continue
        is_written = call.op.kind == "inplace"
        if is_written and call.op.inputs[0].tensor in scene.program.states:
            continue  # a step changes a parameter
        for at in (0, 1):
            own, table = call.dims[at], call.dims[1 - at]
            if len(own) == len(table) == 3 and get_length(table[2]) > 1:
                for dim, other in zip(own[:2], table[:2], strict=True):
                    if len(dim) != 1 or dim[0] is not axis or get_length(other) < 2:
                        continue
                    if _is_table(other) or _is_position_lookup(
                        scene, call.op.inputs[1 - at]
                    ):
                        return call
    return None


def _is_position_lookup(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds the embedding rows of 0, 1, 2, ..., or the first
    rows of a table that has one row for all samples.
    """
    for _ in range(4):
        maker = scene.program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return False
        name = maker.name.rpartition(".")[2]
        if name == "embedding":
            return is_range(scene, maker.inputs[0])
        table = maker.inputs[0]
        if name == "[]" and table.tensor in scene.program.states:
            return len(table.shape) == 3 and table.shape[1] == 1
        if name not in SHOWN:
            return False
        fact = maker.inputs[0]
    return False


def _is_repeated_lookup(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds embedding rows of a column of positions that is
    repeated for each step.
    """
    lookup = scene.program.producers.get(fact.tensor)
    if lookup is None or lookup.name.rpartition(".")[2] != "embedding":
        return False
    repeat = scene.program.producers.get(lookup.inputs[0].tensor)
    if repeat is None or repeat.name.rpartition(".")[2] not in REPEATING:
        return False
    column = repeat.inputs[0] if repeat.inputs else None
    is_column = column is not None and len(column.shape) == 2 and column.shape[1] == 1
    return column is not None and is_column and is_range(scene, column)


def _is_table(dim: tuple[Axis, ...]) -> bool:
    """Return whether a dim runs over the rows of a parameter or buffer."""
    return len(dim) == 1 and dim[0].size > 1 and dim[0].root.kind == "state"


def find_counted_samples(scene: HazardContext) -> Iterator[Finding]:
    """Find positions that count the samples: `(N, 1, D)` of `arange(x.size(0))`, added
    to `(N, T, D)`, where attention runs along T.
    """
    for call in scene.calls:
        if call.name not in ("+", "add", "__add__") or len(call.dims) != 2:
            continue
        for at in (0, 1):
            own, table = call.dims[at], call.dims[1 - at]
            if not len(own) == len(table) == 3 or len(own[1]) != 1:
                continue
            sizes = [get_length(dim) for dim in table]
            if sizes[0] < 2 or sizes[0] != get_length(own[0]):
                continue
            fact = call.op.inputs[1 - at]
            is_column = sizes[1] == 1 and _is_position_lookup(scene, fact)
            if not is_column and not _is_repeated_lookup(scene, fact):
                continue
            if get_length(own[1]) < 2:
                continue
            along = _find_attended(scene, own[1][0])
            if along is not None:
                shape = format_shape(call.op.inputs[at])
                message = (
                    f"positions are counted along dim 0 of {shape}, but attention runs"
                    " along dim 1: all steps of a sample have the same position"
                )
                why = f"attention runs along these {get_length(own[1])} steps"
                yield scene.finding(BATCH_AXIS, call.op, message, (along, why))


def _find_attended(scene: HazardContext, axis: Axis) -> Op | None:
    """Return the softmax or the attention whose weights run along an axis, or None."""
    for call in scene.calls:
        dims: Dims = ()
        if call.name == "scaled_dot_product_attention":
            dims = call.dims[1][-2:-1]
        elif call.name == "multi_head_attention_forward" and len(call.dims) > 1:
            dims = call.dims[1][:1]  # of the keys, time first
        elif call.name == "softmax" and call.dims:
            at = find_softmax_dim(call)
            dims = call.dims[0][at : at + 1] if at is not None else ()
        if any(part.root is axis.root for dim in dims for part in dim):
            return call.op
    return None


def _find_unpacking(scene: HazardContext, claim: Claim) -> str:
    """Return the line that unpacks a layer's input, as `batch, steps, _ = x.shape`;
    empty if there is none.
    """
    op = claim.call.op
    text_and_node = scene.program.node(op.span)
    if text_and_node is None:
        return ""
    text, node = text_and_node
    if not isinstance(node, ast.Call) or not node.args:
        return ""
    argument = node.args[0]
    inside = text.around(node, ast.FunctionDef)
    if not isinstance(argument, ast.Name) or inside is None:
        return ""
    unpacking, line, start = "", 0, 0
    for target, value in iter_assignments(inside, before=node.lineno + 1):
        if isinstance(target, ast.Name) and target.id == argument.id:
            line = max(line, target.lineno)
        if (
            isinstance(target, ast.Tuple)
            and get_dotted_name(get_shape_owner(value)) == argument.id
        ):
            names = [getattr(part, "id", "") for part in target.elts]
            if (
                len(names) == 3
                and BATCH.fullmatch(names[0])
                and TIME.fullmatch(names[1])
            ):
                unpacking = text.written(text.statement_of(target))
                start = target.lineno
    return unpacking if unpacking and line < start else ""


REPEATING = frozenset({"expand", "expand_as"})
BATCH = re.compile(r"batch\w*|bsz|bs|b", re.IGNORECASE)
TIME = re.compile(r"time\w*|seq\w*|n?_?steps?|t|l|length|frames?", re.IGNORECASE)


def _find_comment(scene: HazardContext, claim: Claim) -> str:
    """Return a comment that states a batch-first layout; empty if there is none, or if
    the file states a time-first layout.

    Only where what the layer is given is laid out as the model's inputs are.
    """
    if not any(
        len(dims) > 1 and len(dims[1]) == 1 and dims[1][0] is claim.axis
        for dims in scene.flow.inputs
    ):
        return ""
    op = claim.call.op
    for frame in reversed(op.frames):
        text = scene.program.text(frame.span.file) if frame.span else None
        if text is None:
            continue
        if TIME_FIRST.search(text.text):
            return ""
        for line in text.lines:
            mark = line.find("#")
            match = BATCH_FIRST.search(line, mark) if mark >= 0 else None
            if match is not None:
                return line[mark + 1 :].strip()
        return ""
    return ""


def _report_layer(
    scene: HazardContext, claim: Claim, op: Op | None, why: str
) -> tuple[Finding, object]:
    layer, fact = claim.call.op, claim.call.op.inputs[0]
    other = fact.shape[0]
    message = (
        f"{_get_outer_name(scene, layer)} takes dim 1 of {format_shape(fact)} for the"
        f" batch and dim 0 for time ({claim.axis.size} samples of {other} steps), but"
        f" {why}"
    )
    finding = scene.finding(
        LAYOUT,
        layer,
        message,
        (layer, "without `batch_first=True`, dim 0 is time"),
        (op, f"here {why}"),
    )
    return finding, (layer.span, LAYOUT)


def _get_outer_name(scene: HazardContext, op: Op) -> str:
    """Return the name that the program has for a layer: `encoder`, not the attention
    inside it.
    """
    for call in scene.program.trace.calls:
        if call.span is not None and call.span == op.span and call.parent is not None:
            return f"`{call.path}`"
    return scene.operation(op)


def _report_step(
    scene: HazardContext, claim: Claim, call: OperatorCall
) -> tuple[Finding, object]:
    fact = call.op.inputs[0]
    message = (
        f"the last sample is taken of {format_shape(fact)}, not the last step:"
        f" {_get_outer_name(scene, claim.call.op)} has the batch in dim 0"
    )
    finding = scene.finding(
        WRONG_AXIS,
        call.op,
        message,
        (claim.call.op, "`batch_first=True`: dim 0 is the batch, dim 1 is time"),
    )
    return finding, (call.op.span, "step")


def _report_state(
    scene: HazardContext, claim: Claim, call: OperatorCall
) -> tuple[Finding, object]:
    fact = call.op.inputs[0]
    message = (
        f"the last sample of the state {format_shape(fact)} is taken, not the last"
        f" layer: {_get_outer_name(scene, claim.call.op)} has the layers in dim 0, then"
        " the batch"
    )
    reason = "its states are (layers, batch, features), whatever `batch_first` says"
    finding = scene.finding(WRONG_AXIS, call.op, message, (claim.call.op, reason))
    return finding, (call.op.span, "state")


def _report_positions(
    scene: HazardContext, claim: Claim, call: OperatorCall
) -> tuple[Finding, object]:
    left_shape, right_shape = (format_shape(fact) for fact in call.op.inputs[:2])
    message = (
        f"positions are added along dim 0 of {left_shape} + {right_shape}, which"
        f" {_get_outer_name(scene, claim.call.op)} takes for the batch"
    )
    finding = scene.finding(
        BATCH_AXIS,
        call.op,
        message,
        (claim.call.op, "`batch_first=True`: dim 0 is the batch, dim 1 is time"),
    )
    return finding, (call.op.span, "positions")
