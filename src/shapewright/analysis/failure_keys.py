"""What failures share that are told as one finding."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import DTYPE_MISMATCH, INDEX_OUT_OF_RANGE
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span, is_installed
from shapewright.record.ops import Op


def get_failure_key(
    program: Program, failure: Failure, code: str
) -> tuple[object, ...]:
    """Return a key that failures of one mistake share: the call that made a tensor of
    the wrong dtype, the tensor that is written beyond its end, or the call's place.
    """
    if code == DTYPE_MISMATCH:
        maker = _find_maker_of_dtype(program, failure)
        if maker is not None:
            return (maker,)
    op = program.trace.ops[failure.op]
    key = _get_index_key(program, failure) or _get_origin_key(program, failure)
    return key or _get_call_key(program, op)


def _find_maker_of_dtype(program: Program, failure: Failure) -> Span | None:
    """Return where a tensor of a wrong dtype was made; several calls may read it."""
    op = program.trace.ops[failure.op]
    for repair in failure.repairs:
        if repair.kind == "dtype" and not repair.parameter:
            maker = program.producers.get(op.inputs[repair.tensor].tensor)
            if maker is not None and maker.span is not None:
                return maker.span
    return None


def _get_index_key(program: Program, failure: Failure) -> tuple[object, ...]:
    """Return a key that all writes beyond the end of a tensor share in a function, as
    those of the fields of a box in its cell; empty for other failures.
    """
    text_and_node = program.node(program.trace.ops[failure.op].span)
    unmet = failure.unmet
    if text_and_node is None or unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return ()
    text, node = text_and_node
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return ()
    scope = text.around(node, ast.FunctionDef)
    line = scope.lineno if scope is not None else 0
    return (text.file, line, text.written(node.value))


def _get_origin_key(program: Program, failure: Failure) -> tuple[object, ...]:
    """Return a key that reads of a module beyond the end share where their indices are
    parts of one tensor, as the two rows of the edges of a graph; empty for others.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or unmet.got is None:
        return ()
    if unmet.got.argument not in failure.arguments:
        return ()
    fact = op.inputs[failure.arguments.index(unmet.got.argument)]
    for _ in range(DEEP):
        maker = program.producers.get(fact.tensor)
        if maker is None or maker.span is None:
            return ()
        if maker.name.rpartition(".")[2] not in PARTS or len(maker.inputs) != 1:
            return (maker.span, _get_built_anew(program, op) or op.module)
        fact = maker.inputs[0]
    return ()


PARTS = operators_with("is_view", "keeps_elements", "splits") | {"to", "__getitem__"}
"""Operators that hand on the numbers of their only input, or a part of them."""
DEEP = 12


def _get_call_key(program: Program, op: Op) -> tuple[object, ...]:
    """Return a key that equal calls share: the line and where the layer is built, or
    the call's place.

    Layers that one line builds are the same.
    """
    layer = program.layer(op)
    if layer is None or op.span is None:
        return (op.span,)
    built = program.built.get(layer.path)
    by = built.span if built is not None else strip_numbers(layer.path)
    by = _get_built_anew(program, op) or by
    return op.span.file, op.span.line, by


def _get_built_anew(program: Program, op: Op) -> str:
    """Return the class of a module that a library builds at each call, as a loss, so
    that its path has another number each time; empty for others.
    """
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if layer is None or (built is not None and not is_installed(built.span.file)):
        return ""
    name = layer.class_name
    return name if re.fullmatch(rf"{name}(_\d+)?", op.module) else ""


def strip_numbers(module: str) -> str:
    """Replace the numbers in a module's path by `*`, so that equal blocks of a loop
    compare equal.
    """
    return ".".join("*" if part.isdigit() else part for part in module.split("."))
