"""Edits for a `squeeze` that removes a batch of one as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.suspect_lines import Line, iter_nodes_on
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import join_lines
from shapewright.record.ops import Op


def fix_lost_batch(program: Program, op: Op) -> Iterator[Fix]:
    """Name the dim of a `squeeze()` before a call that removed a batch of one too."""
    waiting, seen = [fact.tensor for fact in op.inputs], set[int]()
    while waiting and len(seen) < FOLLOWED_BACK:
        tensor = waiting.pop(0)
        maker = program.producers.get(tensor)
        if maker is None or tensor in seen:
            continue
        seen.add(tensor)
        waiting += [fact.tensor for fact in maker.inputs]
        yield from _suggest_kept_batch(program, maker)


def fix_last_squeeze(program: Program) -> Iterator[Fix]:
    """Name another dim for, or leave out, the last `squeeze` before an error that
    removed a batch of one.
    """
    for op in reversed(program.trace.ops[-FOLLOWED_BACK:]):
        yield from _suggest_kept_batch(program, op)


def _suggest_kept_batch(program: Program, maker: Op) -> Iterator[Fix]:
    """Suggest another `squeeze`, or none, for one that removed a batch of one."""
    text_and_call = program.call_at(maker.span)
    if maker.name.rpartition(".")[2] != "squeeze" or text_and_call is None:
        return
    shape, after = maker.inputs[0].shape, maker.outputs[0].shape
    text, call = text_and_call
    func = call.func
    if shape[:1] != (1,) or not isinstance(func, ast.Attribute):
        return
    if text.written(func) == "torch.squeeze":
        for dim, size in enumerate(shape):
            if size == 1 and dim > 0 and len(call.args) == 1 and not call.keywords:
                argument = text.span(call.args[0])
                message = f"`torch.squeeze({join_lines(text.at(argument))}, {dim})`"
                yield Fix("fits", message, (Edit(argument.end, f", {dim}"),))
        return
    owner = text.owner_span(func)
    tail = owner.end.until(text.span(call))
    arguments = [text.written(argument) for argument in call.args]
    arguments += [text.written(word.value) for word in call.keywords]
    if arguments == ["0"] and after == shape[1:]:
        message = f"`{join_lines(text.at(owner))}` without `{text.at(tail)}`"
        yield Fix("fits", message, (Edit(tail, ""),))
        return
    ones = [dim for dim, size in enumerate(shape) if size == 1 and dim > 0]
    if arguments or len(shape) - len(after) <= len(ones):
        return
    methods = [f".squeeze({dim})" for dim in ones]
    if len(ones) != 1:
        methods.insert(0, ".flatten(1)")
    for method in methods:
        shown = join_lines(text.at(owner) + method)
        yield Fix("fits", f"`{shown}`", (Edit(tail, method),))


FOLLOWED_BACK = 12
"""Tensors behind a call that are looked at."""


def suggest_squeeze_dim(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest `squeeze(1)` for `squeeze()`, which removes a batch of 1 as well."""
    for text, node in iter_nodes_on(program, lines, ast.Call):
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr != "squeeze":
            continue
        if node.args or node.keywords:
            continue
        span = text.span(node)
        kept = text.written(func.value)
        for dim in (1, -1, 0, 2):
            message = (
                f"`{kept}.squeeze({dim})`" if len(kept) < 50 else f"`squeeze({dim})`"
            )
            inside = replace(span.end, column=span.end_column - 1)
            place = replace(inside, end_column=inside.column)
            yield Fix("fits", message, (Edit(place, str(dim)),))
