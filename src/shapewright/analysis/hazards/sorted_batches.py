"""Find batches that are sorted by length for an RNN and never put back in order, rows
that are repeated in two orders, and rows that are permuted twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import (
    ALL_LOSSES,
    ARITHMETIC,
    LOSSES,
    HazardContext,
)
from shapewright.analysis.hazards.loss_terms import find_ancestors, find_base
from shapewright.analysis.provenance.axes import Axis, Dim
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PAIRED_ROWS, PERMUTED_TWICE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

SORTS = operators_with("sorts_elements")
INDEXES = operators_with("reads_by_index")
SCATTERS = operators_with("adds_by_index", "writes_by_index")
PACKING = "_pack_padded_sequence"
FARTHEST = 256


def find_sorted_batches(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of rows in the order of their lengths with targets as they came."""
    seen: set[object] = set()
    for loss in scene.calls:
        if loss.name not in ALL_LOSSES or len(loss.op.inputs) < 2:
            continue
        prediction, target = loss.op.inputs[:2]
        if not prediction.requires_grad or not target.shape or not prediction.shape:
            continue
        calls = find_ancestors(scene, prediction, FARTHEST)
        packs = [call for call in calls.values() if call.name == PACKING]
        if len({call.op.index for call in packs}) != 1:
            continue
        index, sort = _find_sorting(scene, packs[0])
        if index is None or sort is None or index.op.span in seen:
            continue
        rows = index.op.inputs[0].shape[:1]
        if prediction.shape[0] % rows[0] or target.shape[0] % rows[0] or rows[0] < 2:
            continue
        later = [c for c in calls.values() if c.op.index > packs[0].op.index]
        if any(_has_order(scene, call, sort) for call in later):
            continue
        if sort.op.index in _list_indices(scene, target):
            continue
        seen.add(index.op.span)
        names = scene.words(loss.op)
        message = (
            f"{scene.words(index.op)[0]} is put in the order of its lengths, and the"
            f" predictions stay in it: {names[0]} and {names[1]} are rows of different"
            " samples"
        )
        yield scene.finding(
            PAIRED_ROWS,
            index.op,
            message,
            (sort.op, "the order is made here"),
            (loss.op, "the rows meet here"),
        )


def find_sorted_pairs(scene: HazardContext) -> Iterator[Finding]:
    """Find rows in the order of their lengths that meet those of another encoder as
    they came: `images @ captions.t()`.
    """
    seen: set[object] = set()
    for pack in scene.calls:
        if pack.name != PACKING:
            continue
        index, sort = _find_sorting(scene, pack)
        if index is None or sort is None or index.op.span in seen:
            continue
        pair = _find_meeting(scene, pack, sort, index.op.inputs[0].shape[0])
        if pair is None:
            continue
        meeting, other = pair
        seen.add(index.op.span)
        message = (
            f"{scene.words(index.op)[0]} is put in the order of its lengths and stays"
            f" in it, and {other} does not: their rows are different samples"
        )
        yield scene.finding(
            PAIRED_ROWS,
            index.op,
            message,
            (sort.op, "the order is made here"),
            (meeting.op, "the rows meet here"),
        )


def find_repeated_pairs(scene: HazardContext) -> Iterator[Finding]:
    """Find rows that meet where one side repeats each row, and the other the whole
    batch: `x.repeat_interleave(k, 0) - y.repeat(k, 1)`.
    """
    seen: set[object] = set()
    for call in scene.calls:
        is_join = call.name in JOINS and call.given(1, "dim") not in (0, None)
        if len(call.dims) < 2 or call.op.span is None or call.op.span in seen:
            continue
        if not is_join and call.name not in ARITHMETIC | LOSSES:
            continue
        first, second = call.dims[:2]
        if not first or not second or len(first) != len(second):
            continue
        left, right = _split_repeated(first[0]), _split_repeated(second[0])
        if left is None or right is None:
            continue
        (rows, count, leads), (others, again, other_leads) = left, right
        is_paired = rows.root is others.root and count.size == again.size
        if not is_paired or leads == other_leads or count.size == rows.size:
            continue  # as many as there are rows: all pairs of them
        seen.add(call.op.span)
        names = scene.words(call.op)
        orders = [
            f"has {_describe_repeats(count.size, leads)}",
            f"has {_describe_repeats(count.size, other_leads)}",
        ]
        makers = [
            next(
                (c.op for c in find_ancestors(scene, fact, FARTHEST).values()
                 if c.name in REPEATING and c.op.span is not None),
                None,
            )
            for fact in call.op.inputs[:2]
        ]  # fmt: skip
        yield scene.finding(
            PAIRED_ROWS,
            call.op,
            f"{names[0]} {orders[0]}, and {names[1]} {orders[1]}: the rows that meet"
            " are those of different samples",
            *((maker, order.replace("has", "this gives")) for maker, order in zip(
                makers, orders, strict=True)),
        )  # fmt: skip


def _split_repeated(dim: Dim) -> tuple[Axis, Axis, bool] | None:
    """Return the rows of a dim that repeats them, the axis of the repeats, and whether
    a whole batch stands before the next; None for other dims.
    """
    axes = [axis for axis in dim if axis.size > 1]
    if len(axes) != 2:
        return None
    for at, rows in enumerate(axes):
        count = axes[1 - at]
        if rows.root.kind in ("input", "source") and rows.data and (
            count.kind in ("repeat", "expanded", "parts")
        ):  # fmt: skip
            return rows, count, at == 1
    return None


def _describe_repeats(count: int, is_whole: bool) -> str:
    """Describe the order of repeated rows."""
    if is_whole:
        return f"the whole batch {count} times, one after the other"
    return f"each row {count} times, one after the other"


REPEATING = operators_with("repeats_whole") | {"repeat_interleave"}
JOINS = operators_with("concatenates")


@looks_for(PERMUTED_TWICE)
def find_second_permutations(scene: HazardContext) -> Iterator[Finding]:
    """Find rows that an order has permuted, and that the same order permutes again
    where its inverse would put them back.
    """
    seen: set[object] = set()
    for call in scene.calls:
        order = _find_order(scene, call)
        if order is None or call.op.span is None or call.op.span in seen:
            continue
        ancestors = find_ancestors(scene, call.op.inputs[0], FARTHEST).values()
        for first in ancestors:
            if first.op.span == call.op.span or first.op.index > call.op.index:
                continue
            earlier = _find_order(scene, first)
            if earlier is None or not _is_one_order(earlier, order):
                continue
            if _get_place(first) != _get_place(call) or _is_read_besides(
                scene, first, call
            ):
                continue
            seen.add(call.op.span)
            again = order if order.op.index != earlier.op.index else call
            yield scene.finding(
                PERMUTED_TWICE,
                again.op,
                f"{scene.words(call.op)[0]} is permuted a second time by the same"
                " order: its rows are put back by the inverse, the `argsort` of it",
                (earlier.op, "the first permutation"),
                (first.op, "the rows are permuted by it here"),
                (call.op, "and are permuted again here"),
            )
            break


SPREADING = operators_with("repeats_whole") | {"[]", "expand", "expand_as"}
"""Calls after which an order is still the same."""
ORDERS = (SORTS - {"topk"}) | {"randperm"}


def _find_order(scene: HazardContext, call: OperatorCall) -> OperatorCall | None:
    """Return the sort or the random permutation by which a call takes rows, or None."""
    if call.name not in INDEXES or len(call.op.inputs) != 2:
        return None
    index = call.op.inputs[1]
    if not index.dtype.startswith("int"):
        return None
    maker = scene.maker(find_base(scene, index, SPREADING))
    return maker if maker is not None and maker.name in ORDERS else None


def _is_one_order(first: OperatorCall, second: OperatorCall) -> bool:
    """Return whether two orders are those of one tensor, along the same dim."""
    if first.op.index == second.op.index:
        return True
    if "randperm" in (first.name, second.name):
        return False
    tensors = [call.op.inputs[0].tensor for call in (first, second)]
    settings = [
        (call.given(1, "dim", default=-1), call.given(2, "descending", default=False))
        for call in (first, second)
    ]
    return tensors[0] == tensors[1] and settings[0] == settings[1]


def _get_place(call: OperatorCall) -> object:
    """Return the dim along which a call takes rows."""
    if call.name == "[]":
        items = call.given(1)
        items = items if isinstance(items, tuple | list) else ()
        return next((n for n, item in enumerate(items) if item != ":"), 0)
    return call.given(1, "dim")


def _is_read_besides(
    scene: HazardContext, first: OperatorCall, last: OperatorCall
) -> bool:
    """Return whether something else reads what was permuted, before the end, such as a
    mixture of each row with another.
    """
    return any(
        user.op.index < last.op.index
        and user.name not in INDEXES
        and user.op.kind not in ("view", "read", "same")
        for user in scene.users.get(first.op.inputs[0].tensor, ())
    )


def _find_meeting(
    scene: HazardContext, pack: OperatorCall, sort: OperatorCall, rows: int
) -> tuple[OperatorCall, str] | None:
    """Return the call in which rows in a sorted order meet a model's other rows, and
    the name of the others; None if there is none.
    """
    waiting, met = [fact.tensor for fact in pack.op.outputs], set[int]()
    follows = set(waiting)
    while waiting and len(met) < FARTHEST:
        for user in scene.users.get(waiting.pop(0), ()):
            if user.op.index in met or user.op.index < pack.op.index:
                continue
            met.add(user.op.index)
            if _has_order(scene, user, sort):
                continue
            if user.name in PAIRING and len(user.op.inputs) == 2:
                for at, other in enumerate(user.op.inputs):
                    if other.tensor in follows or not other.requires_grad:
                        continue
                    is_paired = rows > 1 and rows in other.shape[:1] + other.shape[-1:]
                    if is_paired and _is_in_order(scene, other, pack, sort):
                        return user, scene.words(user.op)[at]
            for fact in user.op.outputs:
                if fact.tensor not in follows:
                    follows.add(fact.tensor)
                    waiting.append(fact.tensor)
    return None


def _is_in_order(
    scene: HazardContext, fact: Fact, pack: OperatorCall, sort: OperatorCall
) -> bool:
    """Return whether a tensor follows from a batch of a loader, and from no sort."""
    calls = find_ancestors(scene, fact, FARTHEST)
    if {pack.op.index, sort.op.index} & {call.op.index for call in calls.values()}:
        return False
    facts = [fact, *(f for call in calls.values() for f in call.op.inputs)]
    return any(f.tensor in scene.program.batches for f in facts)


PAIRING = operators_with("is_product", "subtracts") | {"*", "mul", "cosine_similarity"}
"""Calls in which the rows of two tensors meet."""


def _find_sorting(
    scene: HazardContext, pack: OperatorCall
) -> tuple[OperatorCall | None, OperatorCall | None]:
    """Return the index that sorted what is packed, and the sort that made its order."""
    for call in find_ancestors(scene, pack.op.inputs[0], 24).values():
        place = scene.program.node(call.op.span)
        if call.name not in INDEXES or len(call.op.inputs) != 2 or place is None:
            continue
        order = call.op.inputs[1]
        if order.ndim != 1 or call.op.inputs[0].shape[:1] != order.shape:
            continue
        if not isinstance(place[1], ast.Subscript) and call.name == "[]":
            continue
        maker = scene.maker(order)
        if maker is None or maker.name not in SORTS or maker.op.span == pack.op.span:
            continue
        return call, maker
    return None, None


def _has_order(scene: HazardContext, call: OperatorCall, sort: OperatorCall) -> bool:
    """Return whether a call takes rows by an index that follows from a sort."""
    along = call.given(1, "dim")
    if isinstance(along, int) and along % max(call.op.inputs[0].ndim, 1):
        return False  # within each row, such as the last step
    return call.name in INDEXES | SCATTERS and any(
        fact.dtype.startswith("int") and sort.op.index in _list_indices(scene, fact)
        for fact in call.op.inputs[1:]
    )


def _list_indices(scene: HazardContext, fact: Fact) -> set[int]:
    """Return the calls from which a tensor follows, by their place in the run."""
    return {call.op.index for call in find_ancestors(scene, fact, 24).values()}
