"""Find einsum equations that read or return other elements than was meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.diagonal_products import find_diagonal_products
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    infer_output_letters,
    parse_equation,
)
from shapewright.findings.codes import DIAGONAL_ONLY, EINSUM_REDUCTION, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

ROWS = operators_with("reads_by_index", "keeps_elements") | {"[]"}
FARTHEST = 6
"""Calls between a parameter and the product."""


@looks_for(EINSUM_REDUCTION)
def find_inferred_outputs(scene: HazardContext) -> Iterator[Finding]:
    """Find einsum equations whose output letters torch had to infer, and letters that
    are summed over on their own, each in its operand.
    """
    yield from _find_sums_apart(scene)
    for call in scene.calls:
        if call.name != "einsum" or call.op.span is None:
            continue
        equation = parse_equation(call)
        if equation is None or equation[1] is not None or len(equation[0]) < 2:
            continue
        terms = equation[0]
        shared = [c for c in terms[0] if all(c in term for term in terms)]
        first = shared[0] if shared else ""
        out = infer_output_letters(*equation)
        text = call.given(0, "equation")
        shape = format_shape(call.op.outputs[0])
        where = [term.find(first) for term in terms] if first else []
        front = bool(first) and not any(where) and any(len(t) > 1 for t in terms)
        if front and (
            _is_sum_over_samples(scene, call.dims[0][0])
            or len(shared) < len(set("".join(terms)))
        ):
            message = (
                f"`{text}` has no arrow, so `{first}`, which all operands share, is"
                f" summed: {shape}"
            )
        elif out != "".join(dict.fromkeys(c for t in terms for c in t if c in out)):
            message = (
                f"`{text}` has no arrow, so the letters of the result come in the order"
                f" of the alphabet: `{out}`, {shape}"
            )
        else:
            continue
        yield scene.finding(
            EINSUM_REDUCTION,
            call.op,
            message,
            (call.op, f"torch reads it as `{text}->{out}`"),
        )


def _find_sums_apart(scene: HazardContext) -> Iterator[Finding]:
    """Find equations of which two dims of one size stand each in another operand alone
    and not in the result: nothing is multiplied along them.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        equation = parse_equation(call) if call.name == "einsum" else None
        if equation is None or len(equation[0]) != 2 or call.op.span in seen:
            continue
        (left, right), out = equation
        apart = [
            {c: n for c, n in zip(own, fact.shape, strict=False) if n > 1}
            for own, fact in zip((left, right), call.op.inputs, strict=True)
        ]
        alone = [
            [c for c in sizes if (left + right).count(c) < 2 and c not in (out or "")]
            for sizes in apart
        ]
        if not out or [len(letters) for letters in alone] != [1, 1]:
            continue
        first, second = alone[0][0], alone[1][0]
        if apart[0][first] != apart[1][second]:
            continue
        seen.add(call.op.span)
        names = _read_names(scene, call, left, right)
        message = (
            f"`{names.get(first, first)}` and `{names.get(second, second)}`, both of"
            f" {apart[0][first]}, stand in one operand each and not in the result: each"
            " is summed on its own, and nothing is multiplied along them, as one name"
            " for both would do"
        )
        yield scene.finding(EINSUM_REDUCTION, call.op, message)


def _read_names(
    scene: HazardContext, call: OperatorCall, left: str, right: str
) -> dict[str, str]:
    """Return the names that a pattern of einops has for the letters of two operands."""
    place = scene.program.call_at(call.op.span)
    for part in place[1].args if place is not None else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            terms = [t.split() for t in part.value.partition("->")[0].split(",")]
            if [len(term) for term in terms] == [len(left), len(right)]:
                return dict(zip(left + right, [*terms[0], *terms[1]], strict=True))
    return {}


def _is_sum_over_samples(scene: HazardContext, dim: object) -> bool:
    """Return whether the dim of an einsum letter counts samples."""
    return isinstance(dim, tuple) and scene.is_batch(dim)


@looks_for(DIAGONAL_ONLY)
def find_diagonals(scene: HazardContext) -> Iterator[Finding]:
    """Find products of which a letter that is written twice reads only a diagonal of
    weights.
    """
    yield from find_diagonal_products(scene)
    for call in scene.calls:
        if call.name != "einsum" or call.op.span is None:
            continue
        equation = parse_equation(call)
        if equation is None or len(equation[0]) < 2:
            continue
        for term, fact, name in zip(
            equation[0], call.op.inputs, scene.words(call.op), strict=False
        ):
            twice = next((c for c in term if term.count(c) > 1), "")
            if not twice or not fact.requires_grad:
                continue
            if not _is_of_states(scene, fact):
                continue
            message = (
                f"`{call.given(0, 'equation')}` reads only the diagonal of {name}"
                f" {format_shape(fact)}, since `{twice}` stands twice in `{term}`: the"
                " other weights are never trained"
            )
            yield scene.finding(
                DIAGONAL_ONLY,
                call.op,
                message,
                (call.op, "a product with the matrix has two letters for it"),
            )


def _is_of_states(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is a parameter, a view of one, or rows of one."""
    makers = iter_first_makers(scene.program, fact, FARTHEST)
    facts = [fact]
    for op in makers:
        if op.kind != "view" and op.name.rpartition(".")[2] not in ROWS:
            break
        facts += op.inputs[:1]
    return any(source.tensor in scene.program.states for source in facts)
