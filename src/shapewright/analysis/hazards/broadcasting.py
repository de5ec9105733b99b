"""Broadcasts that were likely not meant: `(N, 1)` with `(N,)`, and, with `--strict`,
every implicit broadcast.

In a loss of stacked log probabilities and a list of returns no axis shows that both
count the same steps. There the loss must consist of their pairs alone, and both sides
must be new and of equal length every time the line runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapewright.analysis.hazards.agreeing_columns import find_agreeing_columns
from shapewright.analysis.hazards.collected_results import find_collected_pairs
from shapewright.analysis.hazards.context import (
    ARITHMETIC,
    LOSSES,
    HazardContext,
)
from shapewright.analysis.hazards.paired_losses import find_paired_losses
from shapewright.analysis.hazards.relative_coordinates import (
    find_relative_columns,
)
from shapewright.analysis.hazards.sample_coefficients import (
    find_masked_columns,
    find_scaled_columns,
)
from shapewright.analysis.hazards.single_targets import (
    has_one_target,
    report_one_target,
)
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Axis, Dim, Dims
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.findings.codes import (
    IMPLICIT_BROADCAST,
    LOSS_SHAPES,
    OUTER_BROADCAST,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op

FLATTENING = operators_with("regroups_dims") | {"squeeze"}


@looks_for(IMPLICIT_BROADCAST)
def find_implicit_broadcasts(scene: HazardContext) -> Iterator[Finding]:
    """Find pointwise calls in the program's own text on two tensors of different
    shapes.
    """
    for call in scene.calls:
        op = call.op
        if call.name not in ARITHMETIC | LOSSES or len(op.inputs) < 2:
            continue
        left, right = op.inputs[0], op.inputs[1]
        if left.shape == right.shape or not left.shape or not right.shape:
            continue
        if op.span is None or not scene.in_user_code(op):
            continue
        names = scene.names(op)
        out = f" to {format_shape(op.outputs[0])}" if op.outputs[0].shape else ""
        message = f"`{op.name}` broadcasts {names[0]} with {names[1]}{out}"
        yield scene.finding(IMPLICIT_BROADCAST, op, message, severity="note")


PAIRING = operators_with("is_arithmetic")
"""Pointwise calls of which losses are made."""

ALONG = operators_with("leads_to_loss")
"""What else stands between pairs and the loss that is made of them."""

COLUMNS = operators_with("makes_column")
"""What makes a column of its own accord: one thing for each step."""

FRESH = operators_with("collects_results")
"""What makes a tensor of a list of what came, step by step."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A call that pairs samples, with the number of the input that is the column, and
    the calls around it.

    `origin` made the other, `backward` is the backward pass of the loss.
    """

    op: Op
    longer: int
    maker: Op
    origin: Op
    backward: Op | None = None


def _find_loss_pairs(ops: Sequence[Op], producers: Mapping[int, Op]) -> Iterator[_Pair]:
    """Find calls in a loss that pair a column, which has a gradient or is the baseline
    of an advantage, with new data of the same length.
    """
    if not any(_get_short_name(op) == "backward" for op in ops):
        return
    pairs_by_span: dict[Span, list[_Pair]] = {}
    refused: set[Span] = set()
    inside: dict[int, set[Span]] = {}  # what is made of pairs alone
    reached: dict[Span, Op] = {}
    for op in ops:
        name = _get_short_name(op)
        if name == "backward":
            for fact in op.inputs:
                for span in inside.get(fact.tensor, ()):
                    reached.setdefault(span, op)
            continue
        own = set[Span]()
        if name in ALONG or name in PAIRING or name in LOSSES:
            own.update(*(inside.get(fact.tensor, ()) for fact in op.inputs))
        if (name in PAIRING or name in LOSSES) and op.span is not None:
            faced = _find_column(op)
            pair = _find_pair(op, faced, producers) if faced is not None else None
            if pair is not None:
                pairs_by_span.setdefault(op.span, []).append(pair)
                own.add(op.span)
            elif faced is not None:
                refused.add(op.span)
        for out in op.outputs if own else ():
            inside[out.tensor] = own
    for span, pairs in pairs_by_span.items():
        origins = {pair.origin.index for pair in pairs}
        again = len(pairs) > 1 and len(origins) == len(pairs)
        if again and span in reached and span not in refused:
            first = pairs[0]
            yield _Pair(
                first.op, first.longer, first.maker, first.origin, reached[span]
            )


def _get_short_name(op: Op) -> str:
    """Return the last part of a call's name."""
    return op.name.rpartition(".")[2]


def _find_column(op: Op) -> int | None:
    """Return which of two inputs is a column, `(S, 1)`, that meets a row, `(T,)`, or
    None.
    """
    for at, fact in enumerate(op.inputs[:2] if len(op.inputs) > 1 else ()):
        shape, other = fact.shape, op.inputs[1 - at].shape
        if len(shape) == 2 and shape[1] == 1 and len(other) == 1 and other[0] > 1:
            return at
    return None


def _find_pair(op: Op, longer: int, producers: Mapping[int, Op]) -> _Pair | None:
    """Return the pair if a column that requires a gradient, or from which new data are
    subtracted as a baseline, meets new data of the same length, or None.
    """
    column, row = op.inputs[longer], op.inputs[1 - longer]
    if column.shape[0] != row.shape[0] or (column.requires_grad and row.requires_grad):
        return None
    is_baseline = not column.requires_grad and not row.requires_grad
    if is_baseline and _get_short_name(op) not in DIFFERENCES:
        return None
    if row.requires_grad:
        return _find_target_pair(op, longer, producers)
    maker = _find_maker(column, producers)
    origin = _find_maker(row, producers)
    if maker is None or origin is None or _get_short_name(origin) not in FRESH:
        return None
    if is_baseline and not maker.outputs[0].requires_grad:
        return None
    is_column = _get_short_name(maker) in COLUMNS
    is_column |= _get_short_name(maker) == "sum" and bool(
        dict(maker.arguments).get("keepdim")
    )
    return _Pair(op, longer, maker, origin) if is_column else None


def _find_target_pair(op: Op, longer: int, producers: Mapping[int, Op]) -> _Pair | None:
    """Return the pair if a row that requires a gradient meets a column of targets that
    were computed step by step, such as rewards and later values, or None.
    """
    column, row = op.inputs[longer], op.inputs[1 - longer]
    computed, maker = producers.get(column.tensor), producers.get(row.tensor)
    if _get_short_name(op) not in DIFFERENCES | LOSSES:
        return None  # numbers of steps may scale features
    if computed is None or maker is None:
        return None
    sums = _get_short_name(computed) in PAIRING and len(computed.inputs) == 2
    alike = all(fact.shape == column.shape for fact in computed.inputs)
    return _Pair(op, longer, computed, maker) if sums and alike else None


def _find_maker(fact: Fact, producers: Mapping[int, Op]) -> Op | None:
    """Return the call that made a tensor, skipping calls that keep its shape, or
    None.
    """
    before: int | None = None
    while (op := producers.get(fact.tensor)) is not None:
        if before is not None and op.index >= before:
            return None  # written again since
        before = op.index
        alike = [operand for operand in op.inputs if operand.shape == fact.shape]
        keeps = _get_short_name(op) in PAIRING or _get_short_name(op) in ALONG - {
            "stack",
            "cat",
        }
        flattened = _get_short_name(op) in FLATTENING
        if flattened and len(fact.shape) == 1 and op.inputs:
            alike, keeps = [op.inputs[0]], True
        if not keeps or not alike or alike[0].tensor == fact.tensor:
            return op
        fact = alike[0]
    return None


@looks_for(OUTER_BROADCAST)
def find_outer_broadcasts(scene: HazardContext) -> Iterator[Finding]:
    """Find pointwise calls that pair the samples of a tensor with those of another."""
    yield from find_scaled_columns(scene)
    yield from find_relative_columns(scene)
    seen: set[Span | None] = set()
    for call in scene.calls:
        loss = call.name in LOSSES
        if (loss or call.name in ARITHMETIC) and len(call.op.inputs) > 1:
            if call.op.span is None:
                continue
            if loss and has_one_target(call):
                yield report_one_target(scene, call)
            paired_axis = _find_paired_axis(scene, call.dims[0], call.dims[1], loss)
            if paired_axis is not None:
                seen.add(call.op.span)
                yield _report_broadcast(scene, call, *paired_axis, loss)
    for finding in (
        *find_collected_pairs(scene),
        *find_agreeing_columns(scene),
        *find_paired_losses(scene),
    ):
        if finding.span is not None and finding.span not in seen:
            seen.add(finding.span)
            yield finding
    for pair in _find_loss_pairs(scene.program.trace.ops, scene.program.producers):
        if pair.op.span not in seen:
            seen.add(pair.op.span)
            yield _report_pair(scene, pair)
    for finding in find_masked_columns(scene):
        if finding.span not in seen:
            yield finding


WARNING_LOSSES = operators_with("warns_of_shapes")


@looks_for(LOSS_SHAPES)
def find_loss_shapes(scene: HazardContext) -> Iterator[Finding]:
    """Find losses whose sides hold as many elements, with other dims of size 1."""
    for call in scene.calls:
        if call.name not in WARNING_LOSSES or call.op.span is None:
            continue
        shapes = [fact.shape for fact in call.op.inputs[:2]]
        wide = [[size for size in shape if size != 1] for shape in shapes]
        if len(shapes) < 2 or shapes[0] == shapes[1] or wide[0] != wide[1]:
            continue
        if _is_paired(shapes[0], shapes[1]):
            names = scene.names(call.op)
            message = f"{scene.operation(call.op)} of {names[0]} and {names[1]}: the"
            message += " elements are paired one to one, but torch warns that the"
            message += " shapes differ"
            maker = scene.program.producers.get(call.op.inputs[1].tensor)
            place = (maker, f"{names[1]} is made here")
            yield scene.finding(LOSS_SHAPES, call.op, message, place)


def _is_paired(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two shapes broadcast without one element meeting several."""
    length = max(len(shape), len(other))
    padded = [(1,) * (length - len(sizes)) + sizes for sizes in (shape, other)]
    return padded[0] == padded[1]


def _find_paired_axis(
    scene: HazardContext, left: Dims, right: Dims, loss: bool
) -> tuple[Axis, int] | None:
    """Return the axis that two tensors hold in different dims, and which tensor has
    more dims (0 or 1).
    """
    if len(left) == len(right):
        return None
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    back = len(longer) - len(shorter)
    for at, dim in enumerate(shorter):
        facing = longer[at + back]
        if get_length(facing) != 1 or not is_sample(scene, dim):
            continue
        accidental = _has_left_ones(longer, len(shorter))
        accidental |= back == 1 and _is_accidental(facing)
        if not loss and not accidental:
            continue
        for front, before in enumerate(longer[: at + back]):
            own = front - back
            alone = own < 0 or get_length(shorter[own]) == 1
            if alone and len(before) == 1 and before[0].root is dim[0].root:
                return dim[0], 0 if longer is left else 1
    return None


def _is_accidental(dim: Dim) -> bool:
    """Return whether a dim of size 1 was introduced without having been requested."""
    return not dim[0].explicit and dim[0].kind in ACCIDENTS


def _has_left_ones(dims: Dims, rank: int) -> bool:
    """Return whether several dims of size 1 stand behind so many others, as a pooling
    leaves them: (N, C, 1, 1).
    """
    rest = dims[rank:]
    return len(rest) > 1 and all(
        get_length(dim) == 1
        and not any(axis.explicit or axis.kind in GIVEN for axis in dim)
        for dim in rest
    )


GIVEN = frozenset({"input", "source", "made"})
"""Axes of size 1 that data have from the start: the program asked for them."""
ACCIDENTS = frozenset({"feature", "input", "source", "one", "state"})


def is_sample(scene: HazardContext, dim: Dim) -> bool:
    """Return whether a dim counts the samples of an input."""
    if len(dim) != 1 or dim[0].size < 2:
        return False
    if scene.is_batch(dim):
        return True
    root = dim[0].root
    return any(dims and dims[0][0].root is root for dims in scene.flow.inputs)


MADE = "what `"
"""How words begin that name a call: another one may have made the other side."""


def _report_broadcast(
    scene: HazardContext, call: OperatorCall, axis: Axis, longer: int, loss: bool
) -> Finding:
    op = call.op
    names = scene.names(op)
    if op.outputs[0].shape:
        result = format_shape(op.outputs[0])
    else:
        wide, slim = op.inputs[longer].shape, op.inputs[1 - longer].shape
        result = format_shape(op.inputs[longer]) if len(slim) > len(wide) else ""
        sizes = [max(a, b) for a, b in zip(
            wide, (1,) * (len(wide) - len(slim)) + slim, strict=True)]  # fmt: skip
        result = f"({', '.join(map(str, sizes))})"
    known = axis.root.words or ""
    where = "the same samples" if not known or MADE in known else known
    message = (
        f"{scene.operation(op)} of {names[0]} and {names[1]} makes {result}:"
        f" each of the {axis.size} samples is combined with every other"
    )
    maker = scene.program.producers.get(op.inputs[longer].tensor)
    return scene.finding(
        OUTER_BROADCAST,
        op,
        message,
        (op, f"{axis.size} is {where} on both sides, once in front of a dim of size 1"),
        (maker, f"{names[longer]} was made here"),
    )


def _report_pair(scene: HazardContext, pair: _Pair) -> Finding:
    """Return the finding for a pair that the run shows to be part of a loss."""
    op, names = pair.op, scene.names(pair.op)
    size = op.inputs[1 - pair.longer].shape[0]
    return scene.finding(
        OUTER_BROADCAST,
        op,
        f"{scene.operation(op)} of {names[0]} and {names[1]} makes ({size}, {size}): "
        f"each of the {size} samples is combined with every other",
        (pair.maker, f"{names[pair.longer]} was made here"),
        (pair.origin, f"{names[1 - pair.longer]} comes from here"),
        (pair.backward, "the backward pass of the loss computed from it"),
    )


DIFFERENCES = operators_with("subtracts")
