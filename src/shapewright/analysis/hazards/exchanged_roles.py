"""Find formulas whose two parts are exchanged: the straight-through estimator with the
value of one part and the gradient of the other, and hard examples that are the easiest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    SUMS,
    find_ancestors,
    find_base,
    is_of_function,
)
from shapewright.analysis.hazards.reversed_pairs import find_reversed_pairs
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import (
    REVERSED_MINING,
    REVERSED_STRAIGHT_THROUGH,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Fact, Op

DIFFERENCES = operators_with("subtracts")
CHOICES = (
    operators_with("rounds", "has_zero_gradient", "compares_elements")
    | operators_with("returns_indices", "sorts_elements", "takes_integers")
    | {"==", "!=", ">", "<", ">=", "<="}
)
"""Calls through which no gradient goes."""
FARTHEST = 96
"""Calls between a tensor and what it is the quantized form of."""


@looks_for(REVERSED_STRAIGHT_THROUGH)
def find_reversed_estimators(scene: HazardContext) -> Iterator[Finding]:
    """Find `q + (z - q).detach()` of a `q` that is the quantized `z`."""
    seen: set[object] = set()
    for call in scene.calls:
        span = call.op.span
        if span is None or span in seen or len(call.op.inputs) != 2:
            continue
        parts = _split_estimator(scene, call)
        step = _find_uncut_step(scene, call) if parts is None else None
        if step is not None:
            seen.add(span)
            yield _report_uncut_step(scene, call, step)
        if parts is None or not _is_quantized(scene, *parts):
            continue
        seen.add(span)
        names = _name_parts(scene, call)
        quantized, plain = names or ("the quantized tensor", "the tensor as it was")
        yield scene.finding(
            REVERSED_STRAIGHT_THROUGH,
            call.op,
            f"the value of this is {plain} and not {quantized}: what follows never"
            f" sees quantized numbers, and the gradient does not reach {plain}",
            (_get_op(scene, parts[0]), "it is quantized here"),
        )


def _find_uncut_step(scene: HazardContext, call: OperatorCall) -> int | None:
    """Return which operand of `z + (q - z)` is the difference, where `q` is the
    quantized `z` and nothing is detached, or None.
    """
    if call.name not in SUMS or not call.op.outputs[0].requires_grad:
        return None
    if call.op.kind == "inplace" and call.op.inputs[0].is_leaf:
        return None  # an average of weights
    for at, plain in enumerate(call.op.inputs):
        pair = _split_difference(scene.maker(call.op.inputs[1 - at]))
        if pair is None or pair[1].tensor != plain.tensor or not plain.requires_grad:
            continue
        before = find_ancestors(scene, pair[0], FARTHEST).values()
        is_told = not any(is_of_function(scene, f) for c in before for f in c.op.inputs)
        if not is_told or is_of_function(scene, pair[0]):
            continue
        if _is_quantized(scene, pair[0], plain):
            return 1 - at
    return None


def _report_uncut_step(scene: HazardContext, call: OperatorCall, at: int) -> Finding:
    """Return the finding for an estimator that nothing detaches."""
    step, plain = (scene.words(call.op)[which] for which in (at, 1 - at))
    message = (
        f"{step} is not detached: its gradient takes away that of {plain}, so none of"
        f" what comes behind the choice reaches {plain}"
    )
    pair = _split_difference(scene.maker(call.op.inputs[at]))
    choice = _get_op(scene, pair[0]) if pair is not None else None
    place = (choice, "it is quantized here")
    return scene.finding(REVERSED_STRAIGHT_THROUGH, call.op, message, place)


def _get_op(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that computed a tensor."""
    maker = scene.maker(fact)
    return maker.op if maker is not None else None


def _split_estimator(
    scene: HazardContext, call: OperatorCall
) -> tuple[Fact, Fact] | None:
    """Return `q` and `z` of `q + (z - q).detach()` or `z - q.detach() + q`."""
    if call.name not in SUMS:
        return None
    for at in (0, 1):
        first, rest = call.op.inputs[at], call.op.inputs[1 - at]
        maker = scene.maker(rest)
        if maker is None:
            continue
        if maker.name == "detach":
            inner = scene.maker(maker.op.inputs[0])
            pair = _split_difference(inner)
            if pair is not None and pair[1].tensor == first.tensor:
                return first, pair[0]
        pair = _split_difference(maker)
        cut = scene.maker(pair[1]) if pair is not None else None
        if pair is None or cut is None or cut.name != "detach":
            continue
        if cut.op.inputs[0].tensor == first.tensor:
            return first, pair[0]
    return None


def _split_difference(call: OperatorCall | None) -> tuple[Fact, Fact] | None:
    """Return the two tensors of a difference, or None."""
    if call is None or call.name not in DIFFERENCES or len(call.op.inputs) != 2:
        return None
    first, second = call.op.inputs
    return (second, first) if call.name == "rsub" else (first, second)


def _is_quantized(scene: HazardContext, fact: Fact, plain: Fact) -> bool:
    """Return whether a tensor follows from another one through choices alone, such as
    a nearest code, a sign or rounding.
    """
    bases = {plain.tensor, find_base(scene, plain).tensor}
    by_choice: dict[int, bool] = {}
    waiting = [(fact, False)]
    while waiting and len(by_choice) < FARTHEST:
        current, chosen = waiting.pop(0)
        if by_choice.get(current.tensor, True) is False:
            continue
        if current.tensor in by_choice and chosen:
            continue
        by_choice[current.tensor] = chosen
        if current.tensor in bases:
            continue
        maker = scene.maker(current)
        if maker is not None:
            is_choice = chosen or maker.name in CHOICES
            waiting += [(part, is_choice) for part in maker.op.inputs]
        for user in scene.users.get(current.tensor, ()):
            inputs = user.op.inputs
            if user.op.kind == "inplace" and inputs[0].tensor == current.tensor:
                waiting += [(part, chosen) for part in inputs[1:]]
    ways = [by_choice[base] for base in bases if base in by_choice]
    return bool(ways) and all(ways)


def _name_parts(scene: HazardContext, call: OperatorCall) -> tuple[str, str] | None:
    """Return the expressions of `q` and `z` as the program writes them."""
    place = scene.program.node(call.op.span)
    if place is None or not isinstance(place[1], ast.BinOp):
        return None
    pair = get_estimator(place[0], place[1])
    if pair is None:
        return None
    return f"`{place[0].line_of(pair[0])}`", f"`{place[0].line_of(pair[1])}`"


def get_estimator(text: SourceText, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return `q` and `z` of `q + (z - q).detach()` or `z - q.detach() + q`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    for first, rest in ((node.left, node.right), (node.right, node.left)):
        cut = _get_detached(rest)
        step = cut if cut is not None else rest
        if not isinstance(step, ast.BinOp) or not isinstance(step.op, ast.Sub):
            continue
        last = step.right if cut is not None else _get_detached(step.right)
        if last is not None and text.line_of(last) == text.line_of(first):
            return first, step.left
    return None


def _get_detached(node: ast.expr) -> ast.expr | None:
    """Return `x` of `x.detach()`, or None."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr == "detach":
        return func.value
    return None


LARGEST, SMALLEST = frozenset({"max", "amax"}), frozenset({"min", "amin"})
EQUALITIES = {"==": True, "eq": True, "!=": False, "ne": False}
"""Comparisons of labels, and whether they are true for equal ones."""
INVERTING = frozenset({"~", "logical_not"})
COMBINING = operators_with("needs_all_truths") | operators_with("keeps_mask")
PAIRING = COMBINING | {"&", "|", "bitwise_or"}
VIEWS = ("[]",)
HINGES = operators_with("clamps", "limits_from_below") | {"softplus", "exp"}


@looks_for(REVERSED_MINING)
def find_reversed_mining(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of the nearest positive and the farthest negative of each sample."""
    yield from find_reversed_pairs(scene)
    seen: set[object] = set()
    for call in scene.calls:
        pair = _split_difference(call)
        if pair is not None and not _is_hinged(scene, call):
            continue
        if call.name == "margin_ranking_loss" and len(call.op.inputs) == 3:
            label = scene.maker(call.op.inputs[2])
            if label is not None and "ones" in label.name:
                pair = (call.op.inputs[1], call.op.inputs[0])
        if pair is None or call.op.span in seen or not pair[0].requires_grad:
            continue
        first, second = (_find_choice(scene, fact) for fact in pair)
        if first is None or second is None or first[2] != second[2]:
            continue
        is_reversed = first[0].name in SMALLEST and second[0].name in LARGEST
        if not is_reversed or (first[1], second[1]) != (True, False):
            continue
        seen.add(call.op.span)
        yield scene.finding(
            REVERSED_MINING,
            first[0].op,
            "this takes the nearest sample of the same class, and below the farthest of"
            " other classes is taken: the easiest triplets, not the hardest",
            (second[0].op, "the farthest sample of other classes"),
            (call.op, "both are compared here"),
        )


def _is_hinged(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a difference, perhaps with a margin added, is what `relu`,
    `softplus` or the like is given.
    """
    for _ in range(4):
        users = scene.users.get(call.op.outputs[0].tensor, ())
        if any(user.name in HINGES for user in users):
            return True
        sums = [user for user in users if user.name in SUMS]
        if not sums:
            return False
        call = sums[0]
    return False


def _find_choice(
    scene: HazardContext, fact: Fact
) -> tuple[OperatorCall, bool | None, int] | None:
    """Return the `min` or `max` that a tensor follows from, whether it chooses among
    pairs of equal labels, and the tensor of distances; None for other tensors.
    """
    for _ in range(4):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in LARGEST | SMALLEST:
            break
        if maker.name not in operators_with("keeps_elements", "moves_dims"):
            return None
        fact = maker.op.inputs[0]
    else:
        return None
    if len(maker.op.inputs) != 1:
        return None
    filled = scene.maker(maker.op.inputs[0])
    if filled is None or len(filled.op.inputs) < 2:
        return None
    if filled.name.rstrip("_") == "masked_fill":
        distances, mask = filled.op.inputs[:2]
        chosen = _read_equality(scene, mask)
        number = filled.given(2, "value")
        chosen = not chosen if chosen is not None else None
    elif filled.name == "where":
        mask, distances = filled.op.inputs[:2]
        chosen, number = _read_equality(scene, mask), filled.given(2, "other")
        other = scene.maker(filled.op.inputs[2]) if len(filled.op.inputs) > 2 else None
        if other is not None and other.name in ("full_like", "tensor"):
            number = other.given(len(other.op.inputs))
        if number is None and chosen is not None:  # `where(other, inf, distances)`
            chosen, number = not chosen, filled.given(1, "input", "self")
    else:
        return None
    if not _is_left_out(maker, number):
        return None
    return maker, chosen, find_base(scene, distances, VIEWS).tensor


def _is_left_out(maker: OperatorCall, number: object) -> bool:
    """Return whether a `min` never takes the number that fills, nor a `max`."""
    if not isinstance(number, int | float):
        return False
    return number > 1 if maker.name in SMALLEST else number < -1 or number == 0


def _read_equality(scene: HazardContext, mask: Fact) -> bool | None:
    """Return whether a mask is true for pairs of equal labels, None if unknown."""
    for _ in range(6):
        maker = scene.maker(mask)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in EQUALITIES:
            first, *others = (find_base(scene, f, VIEWS) for f in maker.op.inputs)
            same = [f for f in others if f.tensor == first.tensor]
            return EQUALITIES[maker.name] if same else None
        if maker.name in INVERTING:
            inner = _read_equality(scene, maker.op.inputs[0])
            return None if inner is None else not inner
        if maker.name in PAIRING and len(maker.op.inputs) == 2:
            sides = [_read_equality(scene, part) for part in maker.op.inputs]
            known = [side for side in sides if side is not None]
            return known[0] if len(known) == 1 else None
        mask = maker.op.inputs[0]
    return None
