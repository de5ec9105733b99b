"""The range that the elements of a tensor cannot leave, whatever a model gives: a
cosine similarity lies between -1 and 1, a distance is not below 0.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, isnan

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import NEGATIONS, PRODUCTS, QUOTIENTS, SUMS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import parse_equation
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Fact

RANGES: dict[str, tuple[float, float]] = {
    **values_of("gives_range"), **values_of("lies_within"),
    "zeros_like": (0, 0), "zeros": (0, 0), "ones_like": (1, 1), "ones": (1, 1),
}  # fmt: skip
"""What a call returns at least and at most."""
KEEPING = (
    operators_with("regroups_dims", "copies_if_needed", "transposes_dims", "moves_dims")
    | operators_with("moves_device", "splits", "reads_by_index", "stays_within")
    | operators_with("keeps_elements")
    | {"diagonal", "clone"}
)
"""Calls that return some of the elements, or a mean of them."""
MATRIX_PRODUCTS = operators_with("is_product")
DIFFERENCES = operators_with("subtracts") - NEGATIONS
TURNING = frozenset({"t", "T", "mT"})
STEPS = 12
"""Calls between an activation and what is asked for."""


@dataclass(frozen=True, slots=True)
class Range:
    """The lowest and the highest number that elements may be, and the call that limits
    them.
    """

    low: float = -inf
    high: float = inf
    source: OperatorCall | None = None


def find_range(scene: HazardContext, fact: Fact, depth: int = 0) -> Range:
    """Return the range of the elements of a tensor.

    Example: of ``F.normalize(x) @ F.normalize(y).T - 1`` it is -2 to 0.
    """
    call = scene.maker(fact)
    if call is None or depth > STEPS or _is_written_to(scene, fact):
        return Range()
    if call.name in RANGES:
        return Range(*RANGES[call.name], call)
    if _is_of_unit_rows(scene, call):
        return Range(-1, 1, call)
    inputs = call.op.inputs
    if call.name in KEEPING and inputs:
        return find_range(scene, inputs[0], depth + 1)
    combine = _get_arithmetic(call)
    if combine is None or not inputs:
        return Range()
    first = find_range(scene, inputs[0], depth + 1)
    if len(inputs) == 2:
        return combine(first, find_range(scene, inputs[1], depth + 1))
    if call.op.function.endswith(".neg") or call.name in NEGATIONS - {"rsub"}:
        return Range(-first.high, -first.low, first.source)
    number = call.given(1, "other", default=call.given(0))
    if not isinstance(number, int | float) or not _is_written(scene, call, number):
        return Range()
    constant = Range(number, number)
    is_reversed = call.name == "rsub" or call.op.function.endswith("__rsub__")
    limits = combine(constant, first) if is_reversed else combine(first, constant)
    return replace(limits, source=first.source)


def _get_arithmetic(call: OperatorCall) -> Callable[[Range, Range], Range] | None:
    """Return what computes a range from those of two operands, or None."""
    if call.op.kind == "inplace" or "alpha" in call.arguments:
        return None
    if call.name in SUMS:
        return _add
    if call.name in DIFFERENCES | NEGATIONS:
        return lambda a, b: _add(a, Range(-b.high, -b.low, b.source))
    if call.name in PRODUCTS:
        return _multiply
    is_plain = not call.op.function.endswith(("rdiv__", "rtruediv__"))
    if call.name in QUOTIENTS and is_plain and len(call.op.inputs) == 1:
        return _divide
    return None


def _add(first: Range, second: Range) -> Range:
    low, high = first.low + second.low, first.high + second.high
    return Range(
        -inf if isnan(low) else low,
        inf if isnan(high) else high,
        first.source or second.source,
    )


def _multiply(first: Range, second: Range) -> Range:
    ends = [a * b for a in (first.low, first.high) for b in (second.low, second.high)]
    if any(map(isnan, ends)) or not any(ends):
        return Range()  # a factor of 0 switches a term off
    return Range(min(ends), max(ends), first.source or second.source)


def _divide(first: Range, second: Range) -> Range:
    if not second.low or abs(second.low) == inf:
        return Range()
    return _multiply(first, Range(1 / second.low, 1 / second.low))


def _is_written_to(scene: HazardContext, fact: Fact) -> bool:
    """Return whether something is written into a tensor."""
    return any(user.op.kind == "inplace" for user in scene.users.get(fact.tensor, ()))


def _is_of_unit_rows(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a product adds up the features of rows that `normalize` gave unit
    length along these.
    """
    if len(call.op.inputs) != 2 or min(fact.ndim for fact in call.op.inputs) < 2:
        return False
    features = (1, 2)
    if call.name == "einsum":
        terms, out = parse_equation(call) or ([], None)
        summed = {c for term in terms for c in term if out is None or c not in out}
        if len(summed) != 1 or not all(summed <= {*term} for term in terms):
            return False
        letter = summed.pop()
        features = (
            len(terms[0]) - terms[0].index(letter),
            len(terms[1]) - terms[1].index(letter),
        )
    elif call.name not in MATRIX_PRODUCTS:
        return False
    return all(
        _has_unit_length(scene, fact, dim)
        for fact, dim in zip(call.op.inputs, features, strict=True)
    )


def _has_unit_length(scene: HazardContext, fact: Fact, features: int) -> bool:
    """Return whether `normalize` made a tensor, perhaps transposed, along a dim that is
    counted from the last.
    """
    for _ in range(STEPS):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return False
        rank = call.op.inputs[0].ndim
        if call.name == "normalize":
            dim = call.given(2, "dim", default=1)
            is_of_two = call.given(1, "p", default=2) == 2
            return is_of_two and isinstance(dim, int) and rank - dim % rank == features
        dims = (call.given(1, "dim0"), call.given(2, "dim1"))
        is_turned = call.name in TURNING and rank == 2
        if call.name in operators_with("transposes_dims") - TURNING:
            is_turned = all(isinstance(dim, int) for dim in dims)
            is_turned &= {dim % rank for dim in dims if isinstance(dim, int)} == {
                rank - 1,
                rank - 2,
            }
        if is_turned:
            features = 3 - features if features < 3 else features
        elif call.name not in operators_with("moves_device", "copies_if_needed"):
            return False
        fact = call.op.inputs[0]
    return False


def _is_written(scene: HazardContext, call: OperatorCall, number: float) -> bool:
    """Return whether the text has a number as an operand of a call, or under the name
    of one: what a run reads off data stands for others.
    """
    place = scene.program.node(call.op.span)
    if place is None:
        return False
    text, node = place
    return any(
        number in _iter_numbers(text, operand)
        for operand in ast.iter_child_nodes(node)
        if isinstance(operand, ast.expr)
    )


def _iter_numbers(text: SourceText, node: ast.expr) -> Iterator[float]:
    """Yield the number that an expression is, and those that its name is given."""
    values = [node]
    if isinstance(node, ast.Name | ast.Attribute):
        name = get_last_name(node)
        values = find_defining(text, name)
    for value in values:
        sign = 1
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            sign, value = -1, value.operand
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            yield sign * value.value
