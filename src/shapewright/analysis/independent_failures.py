"""Failures that are no mere consequences of earlier ones, with one finding for those
that fail alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.einops_errors import name_letters
from shapewright.analysis.explanations import (
    describe_failure,
    explain_failure,
    find_sides,
    get_size_at,
)
from shapewright.analysis.failure_keys import get_failure_key
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.first_calls import drop_place
from shapewright.analysis.provenance.origins import find_origin
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    DIM_OUT_OF_RANGE,
    DTYPE_MISMATCH,
    INDEX_OUT_OF_RANGE,
    INNER_DIM_MISMATCH,
    JOINED_SIZES_DIFFER,
    PERMUTED_DIMS,
    WRONG_RANK,
)
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.record.ops import Fact, Op

PRODUCTS = operators_with("is_product")


def explain_failures(program: Program) -> list[tuple[Finding, list[Failure]]]:
    """Return a finding for every independent failure; calls that fail in the same way
    share a finding.
    """
    by_call: dict[tuple[object, ...], tuple[Finding, list[Failure]]] = {}
    for failure in iter_independent_failures(program):
        finding = name_letters(program, explain_failure(program, failure))
        finding = drop_place(program, failure, finding)
        code = "" if failure.of_history else finding.code  # later ones follow
        key = code, *get_failure_key(program, failure, code)
        if key in by_call:
            first, failures = by_call[key]
            by_call[key] = _add_place(first, finding), [*failures, failure]
        else:
            by_call[key] = finding, [failure]
    return list(by_call.values())


def _add_place(first: Finding, other: Finding) -> Finding:
    """Return a finding that counts another one of the same mistake, and names its place
    where that is another.
    """
    places = {first.span, *(related.span for related in first.related)}
    related = first.related
    if first.code == INDEX_OUT_OF_RANGE and other.span and other.span not in places:
        related = (*related, Related(other.span, "it goes beyond the end here, too"))
    return replace(first, count=first.count + 1, related=related)


def iter_independent_failures(program: Program) -> Iterator[Failure]:
    """Yield the failures that are not mere consequences of an earlier failure.

    Sizes that the run had to guess go on in what is made from them; a call that fails
    because of such a size says nothing new.
    """
    unsure: Unsure = {}
    cast: set[int] = set()  # tensors whose dtype was guessed
    at = {failure.op: failure for failure in program.failures}
    of_counts = _find_failures_of_counts(program, at)
    for index, op in enumerate(program.trace.ops if at else ()):
        failure = at.get(index)
        was_cast = any(fact.tensor in cast for fact in op.inputs)
        if failure is not None:
            of_dtype = describe_failure(program, failure)[0] == DTYPE_MISMATCH
            follows_cast = of_dtype and was_cast
            follows = follows_cast or index in of_counts
            if not (follows or _has_guessed_size(failure, op.inputs, unsure)):
                yield failure
            decided = any(fact.tensor in program.states for fact in op.inputs)
            was_cast = of_dtype and not decided
        if was_cast:
            cast |= {fact.tensor for fact in op.outputs}
        guessed = failure.guessed if failure is not None else ()
        if failure is not None and guessed and _is_of_square(failure, op):
            for fact in op.inputs:  # a square matrix that is read again later
                dims = {d for d, size in enumerate(fact.shape) if size in guessed}
                if len(dims) > 1:
                    unsure[fact.tensor] = frozenset(dims)
        of_rank = failure is not None and is_of_rank(failure)
        of_scores = failure is not None and _has_scores_as_indices(failure, op)
        unclear = guessed or of_rank or of_scores
        if unclear or any(fact.tensor in unsure for fact in op.inputs):
            for fact in op.outputs:
                dims = _find_derived_dims(op, fact, unsure)
                dims |= (
                    _find_guessed_dims(failure, op, fact)
                    if failure is not None
                    else set()
                )
                if of_rank:
                    dims |= set(range(len(fact.shape))) - _find_parameter_dims(op, fact)
                if of_scores:
                    dims |= set(range(len(fact.shape)))
                if dims:
                    unsure[fact.tensor] = unsure.get(fact.tensor, frozenset()) | dims


def _find_failures_of_counts(
    program: Program, failures: dict[int, Failure]
) -> set[int]:
    """Return the calls that compare what two masks keep, where how many one of them
    keeps was assumed: that they differ says nothing of the program.
    """
    places = {
        assumption.span
        for assumption in program.trace.assumptions
        if assumption.message.startswith(KEPT)
    }
    counted: Unsure = {}
    assumed: set[int] = set()
    following = set()
    for index, op in enumerate(program.trace.ops if places and failures else ()):
        sides = find_sides(failures[index]) if index in failures else (None,)
        compared = [
            op.inputs[side[0]].tensor
            for side in sides
            if side is not None
            and side[1] in counted.get(op.inputs[side[0]].tensor, ())
        ]
        if len(compared) > 1 and assumed.intersection(compared):
            following.add(index)
        has_mask = any(fact.dtype == "bool" for fact in op.inputs[1:])
        is_read = op.name.rpartition(".")[2] in ("[]", "masked_select")
        is_counting = is_read and (has_mask or op.span in places)
        for fact in op.outputs if is_counting else ():
            counted[fact.tensor] = frozenset({0})
            if op.span in places:
                assumed.add(fact.tensor)
        if is_counting or not any(fact.tensor in counted for fact in op.inputs):
            continue
        for fact in op.outputs:
            counted[fact.tensor] = frozenset(_find_derived_dims(op, fact, counted))
            if any(operand.tensor in assumed for operand in op.inputs):
                assumed.add(fact.tensor)
    return following


KEPT = "a mask of unknown data keeps"


def _is_of_square(failure: Failure, op: Op) -> bool:
    """Return whether a product may have a square matrix of another size."""
    unmet = failure.unmet
    is_product = op.name.rpartition(".")[2] in PRODUCTS
    return unmet is not None and unmet.code == INNER_DIM_MISMATCH and is_product


Unsure = dict[int, frozenset[int]]
"""The dims of each tensor whose sizes were guessed."""


def _find_derived_dims(op: Op, out: Fact, unsure: Unsure) -> set[int]:
    """Return the dims of an output whose sizes derive from guessed sizes."""
    dims = set()
    sizes = {get_size_at(op, side) for side in _iter_guessed_sides(op, unsure)}
    known = {size for fact in op.inputs for size in fact.shape}
    for dim, size in enumerate(out.shape):
        came = find_origin(op, out, dim)
        if came is None:
            if sizes and (size in sizes or size not in known):
                dims.add(dim)
        elif any(d in unsure.get(op.inputs[n].tensor, ()) for n, d in came.places):
            dims.add(dim)
    return dims


ALIGNED = frozenset({BROADCAST_MISMATCH, JOINED_SIZES_DIFFER})
"""Codes of calls whose result has the dims of the operands, lined up from the right."""


def _find_guessed_dims(failure: Failure, op: Op, out: Fact) -> set[int]:
    """Return the output dims of a refused call whose sizes neither side determines."""
    unmet, places = (
        failure.unmet,
        [side for side in find_sides(failure) if side is not None],
    )
    if unmet is not None and unmet.code in ALIGNED and places and failure.guessed:
        backs = {len(op.inputs[at].shape) - dim for at, dim in places}
        return {len(out.shape) - back for back in backs if back <= len(out.shape)}
    return {d for d, size in enumerate(out.shape) if size in failure.guessed}


def is_of_rank(failure: Failure) -> bool:
    """Return whether the run had to guess the rank."""
    unmet = failure.unmet
    return unmet is not None and unmet.code in OF_RANK and not unmet.makes


def _has_scores_as_indices(failure: Failure, op: Op) -> bool:
    """Return whether a lookup was given what a layer computed: not even the number of
    its dims says how many indices were meant.
    """
    return any(
        repair.kind == "dtype"
        and repair.new in INDICES
        and op.inputs[repair.tensor].requires_grad
        for repair in failure.repairs
    )


INDICES = frozenset({"int64", "int32"})


def _find_parameter_dims(op: Op, out: Fact) -> set[int]:
    """Return the dims of an output whose sizes come from a parameter."""
    dims = set()
    for dim in range(len(out.shape)):
        came = find_origin(op, out, dim)
        if came is not None and came.how == "parameter":
            dims.add(dim)
    return dims


def _iter_guessed_sides(op: Op, unsure: Unsure) -> Iterator[tuple[int, int]]:
    """Yield the dims of an op's inputs whose sizes were guessed."""
    for n, fact in enumerate(op.inputs):
        for dim in unsure.get(fact.tensor, ()):
            if dim < len(fact.shape):
                yield n, dim


def _has_guessed_size(
    failure: Failure, inputs: tuple[Fact, ...], unsure: Unsure
) -> bool:
    """Return whether the mismatched size was guessed."""
    places = [side for side in find_sides(failure) if side is not None]
    if places:
        return any(dim in unsure.get(inputs[at].tensor, ()) for at, dim in places)
    unmet = failure.unmet
    if unmet is not None and unmet.code in OF_RANK:
        return False  # how many dims there are was not guessed
    sizes = {
        fact.shape[dim]
        for fact in inputs
        for dim in unsure.get(fact.tensor, ())
        if dim < len(fact.shape)
    }
    numbers = [unmet.has, unmet.needs] if unmet is not None else []
    known = [number for number in numbers if type(number) is int]
    return bool(sizes.intersection(known) if known else sizes)


OF_RANK = frozenset({DIM_OUT_OF_RANGE, WRONG_RANK, PERMUTED_DIMS})
"""Codes that tell of dims, whatever their sizes."""
