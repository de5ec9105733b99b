"""Convolutions without the padding that keeps the size of a map, where maps are joined,
added or compared behind them.
"""

from __future__ import annotations

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    JOINED_SIZES_DIFFER,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.spans import Span

CONVOLVING = operators_with("is_convolution")
OF_MAPS = frozenset({BROADCAST_MISMATCH, JOINED_SIZES_DIFFER, TARGET_SHAPE})
"""Codes of calls that want maps of one size."""
MOST_SINGLE = 4
"""Convolutions that are padded one by one."""


def find_padding(program: Program, failure: Failure) -> tuple[list[Fix], bool]:
    """Return `padding=1` for the convolutions of three by three that have none, for one
    by one and all at once, and whether others have theirs.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_MAPS or not op.inputs:
        return [], False
    if max(len(fact.shape) for fact in op.inputs) < 3 or not _is_of_map(failure):
        return [], False
    bare: dict[Span, Fix] = {}
    is_kept = False
    for before in program.trace.ops[: op.index]:
        name = before.name.rpartition(".")[2]
        if name not in CONVOLVING or len(before.inputs) < 2 or not before.outputs:
            continue
        kernel = before.inputs[1].shape[2:]
        if not kernel or any(size != kernel[0] or size % 2 == 0 for size in kernel):
            continue
        came, left = (
            fact.shape[-len(kernel) :] for fact in (before.inputs[0], before.outputs[0])
        )
        is_kept |= kernel[0] > 1 and came == left
        if kernel[0] == 1 or left != tuple(size - kernel[0] + 1 for size in came):
            continue
        built = find_constructor(program, before.module)
        if built is None or len(built[1].args) >= PADDING:
            continue
        text, call = built
        options = {word.arg: word.value for word in call.keywords}
        if not {*options} & {"padding", None}:
            fix = with_keyword(text, call, f"padding={kernel[0] // 2}")
            bare.setdefault(text.span(call), fix)
        elif "padding" in options and evaluate_whole_number(options["padding"]) == 0:
            edit = Edit(text.span(options["padding"]), f"{kernel[0] // 2}")
            fix = Fix("fits", f"`padding={edit.text}`", (edit,))
            bare.setdefault(text.span(call), fix)
    fixes = list(bare.values())[:MOST_SINGLE] if is_kept or len(bare) == 1 else []
    if len(bare) > 1:
        edits = tuple(edit for fix in bare.values() for edit in fix.edits)
        words = {edit.text.lstrip(", ").removeprefix("padding=") for edit in edits}
        word = (
            f"`padding={words.pop()}`"
            if len(words) == 1
            else "`padding` of half the kernel"
        )
        message = f"{word} for each of {len(bare)} convolutions"
        fixes.append(Fix("fits", message, edits))
    return fixes, is_kept


PADDING = 5
"""The place of `padding` among the arguments of a convolution, from 1."""


def _is_of_map(failure: Failure) -> bool:
    """Return whether the sizes that differ are of a map, not samples or channels."""
    unmet = failure.unmet
    places = [unmet.got, unmet.wanted] if unmet is not None else []
    return all(place is None or place.dim is None or place.dim > 1 for place in places)
