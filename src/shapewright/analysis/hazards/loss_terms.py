"""Split a loss into its terms: what is added to it, and with which factor."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

SUMS = frozenset({"+", "add", "__add__", "__radd__", "+=", "add_", "__iadd__"})
NEGATIONS = operators_with("negates")
DIFFERENCES = operators_with("subtracts") | NEGATIONS | {"-=", "sub_", "__isub__"}
PRODUCTS = frozenset({"*", "mul", "multiply", "__mul__", "__rmul__"})
QUOTIENTS = operators_with("divides_elements")
AVERAGES = operators_with("adds_up_elements")
REARRANGING = (
    operators_with("regroups_dims", "copies_if_needed", "transposes_dims", "moves_dims")
    | operators_with("moves_device", "keeps_elements")
) - {"[]"}
"""Calls whose result has the same elements."""
JOINS = operators_with("collects_results") | {"concat"}
MOST = 64
"""Calls of a loss that are looked at."""


@dataclass(frozen=True, slots=True)
class Term:
    """A tensor that is added to a loss `factor` times, apart from sums and means."""

    factor: float
    fact: Fact


def iter_losses(scene: HazardContext) -> Iterator[Fact]:
    """Yield each tensor whose `backward` was called."""
    for op in scene.program.trace.ops:
        if op.name.rpartition(".")[2] == "backward" and op.inputs:
            yield op.inputs[0]


def find_terms(
    scene: HazardContext, fact: Fact, stops: Collection[str] = ()
) -> list[Term]:
    """Return the terms of a loss; calls of functions named in `stops` are not split.

    Example: ``a.mean() - 0.5 * b`` has the terms ``a`` (1) and ``b`` (-0.5).
    """
    terms: list[Term] = []
    waiting = [Term(1.0, fact)]
    for _ in range(MOST):
        if not waiting:
            break
        term = waiting.pop()
        parts = _split_term(scene, term, stops)
        if parts is None:
            terms.append(term)
        else:
            waiting += parts
        waiting += _find_added_in_place(scene, term)
    return terms


def _split_term(
    scene: HazardContext, term: Term, stops: Collection[str]
) -> list[Term] | None:
    """Return the terms of which a term is the sum, or None if it is no sum."""
    call = scene.maker(term.fact)
    if call is None or not call.op.inputs:
        return None
    if stops and get_call_name(scene, call.op) in stops:
        return None
    inputs, factor = call.op.inputs, term.factor
    if call.name in SUMS:
        scale = _get_number(call.arguments.get("alpha"), 1.0)
        return [Term(factor * (scale if at else 1), f) for at, f in enumerate(inputs)]
    if call.name in DIFFERENCES:
        if len(inputs) == 1:
            turned = is_negated(call)
            return [Term(-factor if turned else factor, inputs[0])]
        first, second = (1, 0) if call.name == "rsub" else (0, 1)
        scale = _get_number(call.arguments.get("alpha"), 1.0)
        return [Term(factor, inputs[first]), Term(-factor * scale, inputs[second])]
    if call.name in PRODUCTS | QUOTIENTS and len(inputs) == 1:
        number = call.given(1, "other", default=call.given(0))
        if not isinstance(number, int | float) or not number:
            return None
        if call.name in QUOTIENTS:
            if call.op.function.endswith("__rtruediv__"):
                return None
            number = 1 / number
        return [Term(factor * number, inputs[0])]
    if call.name in AVERAGES | REARRANGING and len(inputs) == 1:
        return [Term(factor, inputs[0])]
    if call.name in JOINS:
        return [Term(factor, fact) for fact in inputs]
    return None


def _find_added_in_place(scene: HazardContext, term: Term) -> list[Term]:
    """Return what `+=` and `-=` add to the tensor of a term."""
    added = []
    for user in scene.users.get(term.fact.tensor, ()):
        inputs = user.op.inputs
        if user.op.kind != "inplace" or len(inputs) < 2:
            continue
        if inputs[0].tensor != term.fact.tensor:
            continue
        if user.name in SUMS:
            added.append(Term(term.factor, inputs[1]))
        elif user.name in DIFFERENCES:
            added.append(Term(-term.factor, inputs[1]))
    return added


def is_negated(call: OperatorCall) -> bool:
    """Return whether a call returns its only tensor with the other sign: `-x`,
    `1 - x`.
    """
    return call.name in NEGATIONS | {"rsub", "__rsub__"} or (
        call.op.function.endswith(("__rsub__", ".neg"))
    )


def _get_number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def get_call_name(scene: HazardContext, op: Op) -> str:
    """Return the name of the function or method that the program calls at an op."""
    call = scene.program.call_at(op.span)
    return get_called_name(call[1]) if call is not None else ""


def find_ancestors(
    scene: HazardContext, fact: Fact, most: int = 64
) -> dict[int, OperatorCall]:
    """Return the calls from which a tensor follows, nearest first, by their result."""
    ancestors: dict[int, OperatorCall] = {}
    waiting = [fact]
    while waiting and len(ancestors) < most:
        tensor = waiting.pop(0)
        call = scene.maker(tensor)
        if call is None or tensor.tensor in ancestors:
            continue
        ancestors[tensor.tensor] = call
        waiting += call.op.inputs[:MOST_OPERANDS]
    return ancestors


MOST_OPERANDS = 8
"""Operands that are followed of one call: more are the samples of a batch."""


def find_base(scene: HazardContext, fact: Fact, more: Collection[str] = ()) -> Fact:
    """Return the tensor whose elements a tensor shows in another shape or dtype."""
    for _ in range(MOST):
        call = scene.maker(fact)
        if call is None or len(call.op.inputs) != 1:
            break
        if call.name not in REARRANGING and call.name not in more:
            break
        fact = call.op.inputs[0]
    return fact


def is_of_function(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor got its graph from a `Function` of the program, whose
    calls say nothing of its gradient.
    """
    maker = scene.maker(fact)
    if maker is None or fact.is_leaf or not fact.requires_grad:
        return False
    outputs = {out.tensor: out.requires_grad for out in maker.op.outputs}
    return outputs.get(fact.tensor) is False


def is_trained(scene: HazardContext, fact: Fact, losses: set[int]) -> bool:
    """Return whether a backward pass begins at a tensor, or at what follows from it."""
    waiting, seen = [fact.tensor], set[int]()
    while waiting and len(seen) < MOST_FOLLOWED:
        tensor = waiting.pop(0)
        if tensor in losses:
            return True
        if tensor in seen:
            continue
        seen.add(tensor)
        for user in scene.users.get(tensor, ()):
            waiting += [out.tensor for out in user.op.outputs if out.requires_grad]
    return False


MOST_FOLLOWED = 64
"""Tensors that are followed from one to a backward pass."""
