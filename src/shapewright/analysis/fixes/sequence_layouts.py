"""Layers of sequences that read another layout, and sequences that are padded anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import SEQUENTIAL, with_keyword
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    ATTENTION_MASK_SHAPE,
    BAG_OFFSETS,
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    CTC_LENGTHS,
    MASK_SHAPE,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name
from shapewright.record.ops import collect_leaves


def suggest_batch_first_of_stack(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `batch_first=True` for the layers of a transformer, where a mask has as
    many rows as the samples have tokens.
    """
    for text, node in _iter_layers_of_time(program, failure):
        yield with_keyword(text, node, "batch_first=True")


def describe_layout(program: Program, failure: Failure) -> Related | None:
    """Return where a layer is built that takes the samples for time steps."""
    for text, node in _iter_layers_of_time(program, failure):
        name = text.written(node.func)
        words = f"`{name}` is built without `batch_first=True`: it takes dim 0 for time"
        return Related(text.span(node), words)
    return None


def _iter_layers_of_time(
    program: Program, failure: Failure
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield where the layers around a call are built, if their mask has as many rows as
    dim 1 of what they are given.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code not in OF_MASKS or not op.inputs:
        return
    rows = {fact.shape[-1] for fact in op.inputs[1:] if fact.shape[-2:-1]}
    call = program.call_of(op)
    while call is not None:
        sizes = [fact.shape for fact in collect_leaves(call.inputs)[:1]]
        fits = any(len(size) == 3 and size[1] in rows for size in sizes)
        fits = fits and not program.defines_class(call.class_name)
        for file in program.trace.sources if fits else ():
            text = program.text(file)
            for node in text.nodes if text is not None else ():
                if (
                    text is not None
                    and isinstance(node, ast.Call)
                    and get_last_name(node.func) == call.class_name
                    and call.class_name in SEQUENTIAL | {"MultiheadAttention"}
                    and all(word.arg != "batch_first" for word in node.keywords)
                ):
                    yield text, node
        parent = call.parent
        call = program.trace.calls[parent] if parent is not None else None


OF_MASKS = frozenset({ATTENTION_MASK_SHAPE, MASK_SHAPE, BROADCAST_MISMATCH})
"""Codes of masks that do not fit."""


def suggest_total_length(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `total_length=x.size(1)` for sequences that are padded again to the
    longest of a batch, where labels are as long as they were before.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code not in OF_LENGTHS:
        return
    for maker in iter_makers(program, op):
        text_and_call = program.call_at(maker.span)
        if maker.name.rpartition(".")[2] not in PADDED or text_and_call is None:
            continue
        text, call = text_and_call
        words = {word.arg: word.value for word in call.keywords}
        scope = text.around(call, ast.FunctionDef)
        if get_last_name(call.func) != "pad_packed_sequence" or "total_length" in words:
            continue
        for node in ast.walk(scope) if scope is not None else ():
            is_call = isinstance(node, ast.Call) and bool(node.args)
            if is_call and get_called_name(node) == "pack_padded_sequence":
                assert isinstance(node, ast.Call)
                dim = 1 if "batch_first" in words else 0
                name = text.written(node.args[0])
                yield with_keyword(text, call, f"total_length={name}.size({dim})")
                return


OF_LENGTHS = frozenset({BATCH_DIM_MISMATCH, BROADCAST_MISMATCH, TARGET_SHAPE})
PADDED = ("pad_packed_sequence", "_pad_packed_sequence")


def suggest_time_first(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `log_probs.transpose(0, 1)` for a CTC loss that is given (batch, time,
    classes), where there are as many lengths as it has rows.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    place = program.call_at(op.span)
    if unmet is None or unmet.code != CTC_LENGTHS or place is None or not op.inputs:
        return
    text, call = place
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    value = next(iter([*call.args[:1], words.get("log_probs")]), None)
    shape, lengths = op.inputs[0].shape, op.inputs[-1].shape
    is_turned = len(shape) == 3 and len(lengths) == 1 and lengths[0] == shape[0]
    if value is not None and is_turned and shape[0] != shape[1]:
        new = f"{text.written(value)}.transpose(0, 1)"
        if isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield Fix("fits", f"`{new}`", (Edit(text.span(value), new),))


def suggest_flat_bags(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.cat(texts)` where bags have offsets and are padded or stacked."""
    unmet = failure.unmet
    if unmet is None or unmet.code != BAG_OFFSETS:
        return
    for text in program.own_texts():
        for _, function in text.functions():
            if "cumsum" not in {get_called_name(part) for part in ast.walk(function)}:
                continue  # it makes no offsets
            for part in ast.walk(function):
                if not isinstance(part, ast.Call) or not part.args:
                    continue
                if get_called_name(part) in ("pad_sequence", "stack"):
                    new = f"torch.cat({text.written(part.args[0])})"
                    yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))
