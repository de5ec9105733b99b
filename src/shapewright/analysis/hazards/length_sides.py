"""Find products of rows that are divided by the lengths of one side along the rows of
the other: `(q @ k.T) / (q.norm(dim=1, keepdim=True) * k.norm(dim=1, keepdim=True))`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, QUOTIENTS, SUMS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    parse_equation,
)
from shapewright.findings.codes import ONE_SIDE_NORMALIZED
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

MATRIX_PRODUCTS = operators_with("is_product")
LENGTHS = frozenset({"norm", "vector_norm"})
SQUARES = frozenset({"pow", "square", "**"})
LIMITED = operators_with("clamps", "limits_elements") | SUMS | {"sqrt", "sqrt_", "**"}
"""Calls that keep a length away from zero, or are a root of its square."""
TURNING = operators_with("transposes_dims") | {"t", "T", "mT", "permute"}
REGROUPING = operators_with("regroups_dims", "copies_if_needed", "moves_dims") | {"[]"}
DIAGONALS = frozenset({"diagonal", "diag"})
STEPS = 8
"""Calls between a length and the division by it, and between a product and both."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a product: where its rows are in the product, counted from the last
    dim, and in each tensor that shows them, with the dim of the features.
    """

    place: int
    views: dict[object, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Length:
    """The lengths along a dim: the call, what it measures, where the dim is in this
    and in a divisor, and the operand of the product or quotient that they go into.
    """

    call: OperatorCall
    rows: Fact
    dim: int
    place: int
    user: Op | None = None
    at: int = 0


def find_misplaced_lengths(scene: HazardContext) -> Iterator[Finding]:
    """Find similarities whose divisor has the lengths of both sides along one of
    them.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        is_product = call.name in MATRIX_PRODUCTS or call.name == "einsum"
        sides = _list_sides(scene, call) if is_product else []
        if len(sides) != 2 or call.op.span in seen:
            continue
        quotient, lengths = _find_divisors(scene, call)
        misplaced = _find_misplaced(sides, lengths)
        if quotient is None or misplaced is None:
            continue
        other, wrong = misplaced
        if wrong.user is None or _is_of_diagonal(scene, quotient):
            continue
        seen.add(call.op.span)
        count = call.shape[-other.place]
        rows, columns = _name_rows(scene, other), _name_rows(scene, wrong)
        message = (
            f"the products of the rows of {rows} with those of {columns} are divided by"
            f" the lengths of {columns} along the rows of {rows}, of which there are"
            f" {count} too: this is no cosine similarity"
        )
        operand = scene.words(wrong.user)[wrong.at]
        where = f"{operand} is to lie along the other dim of the products"
        yield scene.finding(
            ONE_SIDE_NORMALIZED, quotient.op, message, (wrong.user, where)
        )


def _name_rows(scene: HazardContext, length: _Length) -> str:
    """Return the program's expression for what lengths measure."""
    square = scene.maker(length.call.op.inputs[0])
    is_square = square is not None and length.call.name == "sum"
    return scene.words(square.op if square and is_square else length.call.op)[0]


def _list_sides(scene: HazardContext, call: OperatorCall) -> list[_Side]:
    """Return both sides of a product of rows, an empty list if it is another one."""
    if len(call.op.inputs) != 2 or min(fact.ndim for fact in call.op.inputs) < 2:
        return []
    left, right = call.op.inputs
    if call.name != "einsum":
        if call.shape[-1] != call.shape[-2] or call.shape[-1] < 2:
            return []
        return [
            _Side(2, _list_views(scene, left, 2, 1)),
            _Side(1, _list_views(scene, right, 1, 2)),
        ]
    terms, out = parse_equation(call) or ([], None)
    if out is None:
        return []
    summed = [c for c in terms[0] if c in terms[1] and c not in out]
    sides: list[_Side] = []
    for at, (fact, own) in enumerate(zip((left, right), terms, strict=True)):
        other = terms[1 - at]
        rows = [letter for letter in own if letter in out and letter not in other]
        if len(rows) != 1 or len(summed) != 1:
            return []
        places = [len(term) - term.index(rows[0]) for term in (out, own)]
        features = len(own) - own.index(summed[0])
        views = _list_views(scene, fact, places[1], features)
        sides.append(_Side(places[0], views))
    counts = {call.shape[-side.place] for side in sides}
    return sides if len(counts) == 1 and min(counts) > 1 else []


def _list_views(
    scene: HazardContext, fact: Fact, rows: int, features: int
) -> dict[object, tuple[int, int]]:
    """Return where rows and features are in an operand, and in what it is a transpose
    of.
    """
    views = {_get_elements(fact): (rows, features)}
    for _ in range(STEPS):
        call = scene.maker(fact)
        if call is None or len(call.op.inputs) != 1 or call.name not in TURNING:
            break
        before = call.op.inputs[0]
        places = {_follow_turn(call, place): place for place in range(1, fact.ndim + 1)}
        if rows not in places or features not in places:
            break
        rows, features, fact = places[rows], places[features], before
        views[_get_elements(fact)] = rows, features
    return views


def _get_elements(fact: Fact) -> object:
    """Return what two tensors share that show the same elements."""
    return fact.storage, fact.storage_offset, fact.shape, fact.stride


def _follow_turn(call: OperatorCall, place: int) -> int | None:
    """Return where a dim is behind a transposition, or None if that is not known."""
    rank = call.op.inputs[0].ndim
    order = list(range(rank))
    if call.name == "permute":
        dims = call.rest(1, "dims")
        if dims is None or len(dims) != rank:
            return None
        order = [int(dim) % rank for dim in dims]
    else:
        pair = (call.given(1, "dim0", "axis0"), call.given(2, "dim1", "axis1"))
        if pair == (None, None) and (call.name != "T" or rank == 2):
            pair = (-2, -1) if rank > 1 else (0, 0)
        if not all(isinstance(dim, int) for dim in pair):
            return None
        first, second = (dim % rank for dim in pair)
        order[first], order[second] = order[second], order[first]
    return rank - order.index(rank - place)


def _find_divisors(
    scene: HazardContext, call: OperatorCall
) -> tuple[OperatorCall | None, list[_Length]]:
    """Return the last quotient of a product, and the lengths that it is divided by."""
    last: OperatorCall | None = None
    lengths: list[_Length] = []
    fact, seen = call.op.outputs[0], set[int]()
    for _ in range(STEPS):
        following = None
        for user in scene.users.get(fact.tensor, ()):
            inputs = user.op.inputs
            is_scaled = user.name in PRODUCTS | QUOTIENTS and len(inputs) == 1
            is_divided = user.name in QUOTIENTS and len(inputs) == 2
            if is_divided and inputs[0].tensor != fact.tensor:
                continue
            if user.op.index not in seen and (is_scaled or is_divided):
                following = user
                break
        if following is None:
            break
        seen.add(following.op.index)
        if len(following.op.inputs) == 2:
            parts = _list_lengths(scene, following.op.inputs[1])
            last = following if parts else last
            lengths += [_name_user(part, following.op, 1) for part in parts]
        fact = following.op.outputs[0]
    return last, lengths


def _list_lengths(scene: HazardContext, fact: Fact, depth: int = 0) -> list[_Length]:
    """Return the lengths of rows that a divisor is a product of."""
    call = scene.maker(fact)
    if call is None or not call.op.inputs or depth > STEPS:
        return []
    rows = _find_measured(scene, call)
    if rows is not None:
        gone = find_reduced_dims(call) or ()
        features = rows.ndim - gone[0]
        shift = 0 if fact.ndim == rows.ndim else 1
        return [
            _Length(call, rows, place, place - (shift if place > features else 0))
            for place in range(1, rows.ndim + 1)
            if place != features
        ]
    inputs = call.op.inputs
    if call.name in PRODUCTS:
        return [
            _name_user(part, call.op, at)
            for at, operand in enumerate(inputs)
            for part in _list_lengths(scene, operand, depth + 1)
        ]
    if call.name in LIMITED and all(other.numel == 1 for other in inputs[1:]):
        return _list_lengths(scene, inputs[0], depth + 1)
    if call.name in TURNING | REGROUPING and len(inputs) == 1:
        parts = _list_lengths(scene, inputs[0], depth + 1)
        places = [_move_place(call, part.place) for part in parts]
        return [
            replace(part, place=place)
            for part, place in zip(parts, places, strict=True)
            if place is not None
        ]
    return []


def _name_user(length: _Length, user: Op, at: int) -> _Length:
    """Return lengths with the operand that they are, unless a call before is known."""
    return length if length.user is not None else replace(length, user=user, at=at)


def _find_measured(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the rows whose lengths, or squares of lengths, a call returns, or None."""
    rows = call.op.inputs[0]
    if call.name == "sum":
        square = scene.maker(rows)
        if square is None or square.name not in SQUARES | PRODUCTS:
            return None
        if square.name in SQUARES and square.given(1, "exponent", default=2) != 2:
            return None
        if square.name in PRODUCTS and len(square.op.inputs) != 2:
            return None
        if len({fact.tensor for fact in square.op.inputs}) != 1:
            return None
        rows = square.op.inputs[0]
    elif call.name not in LENGTHS:
        return None
    gone = find_reduced_dims(call)
    return rows if gone is not None and len(gone) == 1 and rows.ndim > 1 else None


def _move_place(call: OperatorCall, place: int) -> int | None:
    """Return where a dim is behind a view that exchanges dims, or only adds and removes
    dims of 1.
    """
    if call.name in TURNING:
        return _follow_turn(call, place)
    before, after = call.op.inputs[0].shape, call.shape
    if [size for size in before if size > 1] != [size for size in after if size > 1]:
        return None
    if place > len(before) or before[-place] < 2:
        return None
    larger = sum(size > 1 for size in before[len(before) - place :])
    places = [at for at in range(1, len(after) + 1) if after[-at] > 1]
    return places[larger - 1]


def _find_misplaced(
    sides: list[_Side], lengths: list[_Length]
) -> tuple[_Length, _Length] | None:
    """Return lengths of each side, the second of which lie along the rows of the first
    side.
    """
    own = [_list_own(side, lengths) for side in sides]
    if not all(own):
        return None
    if any(view in sides[1].views for view in sides[0].views):
        # A tensor with itself: one length for both sides, or its square, is a choice.
        places = {length.place for length in own[0] + own[1]}
        is_twice = len(own[0]) > 1 and len(places) == 1
        return (own[0][0], own[0][-1]) if is_twice else None
    for side, other in ((1, 0), (0, 1)):
        for length in own[side]:
            if length.place == sides[other].place:
                return own[other][0], length
    return None


def _list_own(side: _Side, lengths: list[_Length]) -> list[_Length]:
    """Return the lengths of the rows of one side that lie along a dim of rows."""
    own = []
    for length in lengths:
        places = side.views.get(_get_elements(length.rows))
        if places is None:
            continue
        gone = find_reduced_dims(length.call) or ()
        features = [length.rows.ndim - dim for dim in gone]
        if [length.dim, *features] == [*places]:
            own.append(length)
    return own


def _is_of_diagonal(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether only the diagonal of a quotient is read, which is right."""
    users = scene.users.get(call.op.outputs[0].tensor, ())
    return bool(users) and all(user.name in DIAGONALS for user in users)
