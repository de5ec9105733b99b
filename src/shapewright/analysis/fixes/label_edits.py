"""Edits for labels: how they are resized, padded and chosen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.constructors import change_layer_size, resize_producer
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name

DRAWN = re.compile(r"from -?\d+ to (\d+), and .* has (\d+) (?:rows|classes|elements)")
"""The numbers in a message of `drawn-index`: the last one drawn, and how many fit."""


def suggest_rows(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a row of the table, or a class of the layer, for each index drawn."""
    numbers = DRAWN.search(finding.message)
    ops = [op for op in program.trace.ops if op.span == finding.span]
    for op in ops if numbers is not None else ():
        assert numbers is not None
        needed, size = int(numbers[1]) + 1, int(numbers[2])
        layer = program.layer(op)
        if layer is not None:
            yield from change_layer_size(program, layer.path, size, needed, "")
        elif op.inputs and len(op.inputs[0].shape) > 1:
            yield from resize_producer(program, op.inputs[0], 1, needed)


OUT_OF_BOUNDS = re.compile(r"Target (-?\d+) is out of bounds")
MOST_MORE = 8
"""Classes that a model may lack; a label beyond them stands for no class."""


def suggest_ignored_class(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `ignore_index=255` for a label far beyond the classes of a loss."""
    op = program.trace.ops[failure.op]
    match = OUT_OF_BOUNDS.search(failure.torch_message)
    if match is None or not op.inputs or not op.inputs[0].shape:
        return
    label, shape = int(match[1]), op.inputs[0].shape
    if 0 <= label < shape[1 if len(shape) > 1 else 0] + MOST_MORE:
        return
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    text_and_call = program.call_at(built.span if built is not None else op.span)
    if text_and_call is None:
        return
    text, call = text_and_call
    for word in call.keywords:
        if word.arg == "ignore_index":
            message = f"`ignore_index={label}`"
            yield Fix("fits", message, (Edit(text.span(word.value), str(label)),))
            return
    yield with_keyword(text, call, f"ignore_index={label}")


def suggest_nearest(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mode="nearest"` for labels that are resized."""
    if not isinstance(node, ast.Call):
        return
    parts = [text.written(argument) for argument in node.args]
    for word in node.keywords:
        if word.arg not in ("mode", "align_corners", "antialias"):
            name = f"{word.arg}=" if word.arg is not None else "**"
            parts.append(f"{name}{text.written(word.value)}")
    parts.append('mode="nearest"')
    new = f"{text.written(node.func)}({', '.join(parts)})"
    yield Fix("fits", '`mode="nearest"`', (Edit(text.span(node), new),))


def suggest_ignored_padding(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to pad with -100, which losses ignore, or to name the padding to the
    loss.
    """
    padding = program.call_at(finding.related[0].span) if finding.related else None
    value = finding.message.partition("padded with ")[2].partition(",")[0]
    name, written = value, None
    if padding is not None:
        where, call = padding
        words = {word.arg: word.value for word in call.keywords}
        written = words.get("padding_value") or words.get("value")
        if isinstance(written, ast.Name):
            name = where.written(written)
    loss = node if isinstance(node, ast.Call) else None
    built = program.built.get(finding.module)
    if built is not None:
        place = program.call_at(built.span)
        text, loss = place if place is not None else (text, None)
    if loss is not None and isinstance(written, ast.Name):
        yield with_keyword(text, loss, f"ignore_index={name}")
    if padding is not None:
        where, call = padding
        if written is not None:
            yield Fix(
                "fits", "`padding_value=-100`", (Edit(where.span(written), "-100"),)
            )
        elif get_called_name(call) == "pad_sequence":
            yield with_keyword(where, call, "padding_value=-100")


def suggest_sign(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(logits.squeeze(-1) > 0).long()` for `argmax` of a single logit."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "argmax":
        return
    receiver = get_receiver(node)
    is_torch = isinstance(receiver, ast.Name) and receiver.id == "torch"
    scores = (node.args[0] if node.args else None) if is_torch else receiver
    if scores is None or get_called_name(scores) in ("sigmoid", "softmax"):
        return
    new = f"({text.written(scores)}.squeeze(-1) > 0).long()"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
