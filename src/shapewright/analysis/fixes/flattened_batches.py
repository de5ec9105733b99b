"""Batches that a flattening takes with it: `x.view(-1)` before a linear layer, where
each sample is to be flattened alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ELEMENT_COUNT_MISMATCH, INNER_DIM_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

FLATTENING = operators_with("regroups_dims") | {"ravel"}
PASSING = operators_with("computes_each_element", "copies_if_needed", "drops_elements")
MOST_STEPS = 4
"""Calls between the flattening and the layer that reads it."""
OF_IMAGES = 4
"""Dims of a batch of images."""
OF_SIZES = frozenset({
    "consumer", "layer", "factor", "number", "turned", "producer", "view", "order",
    "rank", "created", "left-out", "argument",
})  # fmt: skip
"""Kinds of edits that fit sizes to a batch that was flattened."""


def suggest_kept_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.view(x.size(0), -1)` for `x.view(-1)`, where a layer reads as many
    features as one sample has.
    """
    flattened = _find_flattened(program, failure)
    if flattened is None:
        return
    op, whole = flattened
    text_and_call = program.call_at(op.span)
    if text_and_call is None:
        return
    text, call = text_and_call
    name = get_called_name(call)
    is_method = not text.written(call.func).startswith("torch.")
    func = call.func
    if name in ("flatten", "ravel"):
        args = call.args if is_method else call.args[1:]
        if not args and not call.keywords:
            yield _flatten_samples(text, call, is_method)
        return
    if not is_method or not isinstance(func, ast.Attribute) or call.keywords:
        return
    sizes = [value for _, value in op.arguments if type(value) is int]
    if len(sizes) != len(call.args):
        return
    size = prod(whole.shape[1:])
    owner = text.written(func.value)
    if len(sizes) == 1 and sizes[0] == size:
        new = f"-1, {text.written(call.args[0])}"
    elif len(sizes) == 1 and isinstance(func.value, ast.Name):
        new = f"{owner}.size(0), -1"
    elif len(sizes) == 2 and sizes[0] == -1:
        new = f"-1, {' * '.join(map(str, whole.shape[1:]))}"
    else:
        yield _flatten_samples(text, call, is_method)
        return
    span = text.span(call.args[0]).until(text.span(call.args[-1]))
    shown = f"{owner}.{name}({new})"
    yield Fix("fits", f"`{join_lines(shown)}`", (Edit(span, new),))


def _flatten_samples(text: SourceText, call: ast.Call, is_method: bool) -> Fix:
    """Return a call that flattens all dims but the first."""
    owner = call.args[0] if not is_method else getattr(call.func, "value", call.func)
    written = text.written(owner)
    new = f"{written}.flatten(1)" if is_method else f"torch.flatten({written}, 1)"
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def is_of_whole_batch(program: Program, failure: Failure, kind: str) -> bool:
    """Return whether an edit fits a size to all samples of a batch together."""
    return kind in OF_SIZES and _find_flattened(program, failure) is not None


def _find_flattened(program: Program, failure: Failure) -> tuple[Op, Fact] | None:
    """Return the call that flattens a batch with its samples, and the tensor that it
    flattens; None if there is none.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or not op.inputs:
        return None
    if unmet.code == ELEMENT_COUNT_MISMATCH:
        sizes = [value for _, value in op.arguments if type(value) is int]
        size = prod(op.inputs[0].shape[1:])
        is_sample = op.inputs[0].ndim > 2 and sizes == [size] and size > 1
        return (op, op.inputs[0]) if is_sample else None
    if unmet.code != INNER_DIM_MISMATCH or type(unmet.needs) is not int:
        return None
    fact = op.inputs[0]
    for _ in range(MOST_STEPS):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return None
        whole = maker.inputs[0]
        name = maker.name.rpartition(".")[2]
        if name in FLATTENING:
            is_merged = fact.shape[0] != whole.shape[0] and whole.ndim > 2
            is_sample = unmet.needs == prod(whole.shape[1:])
            is_all = fact.ndim == 1 and whole.ndim == OF_IMAGES and whole.shape[0] > 1
            if is_merged and (is_sample or is_all):
                return maker, whole
            return None
        if name not in PASSING:
            return None
        fact = whole
    return None
