"""`kdim` and `vdim` of an attention whose keys and values have another width than its
queries.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.suspect_lines import iter_names_for
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import ATTENTION_FEATURES
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name


def suggest_widths_of_memory(
    program: Program, failure: Failure, is_named: bool
) -> Iterator[Fix]:
    """Suggest `kdim=text_dim, vdim=text_dim`, where a name in scope has that width
    (`is_named`), or with numbers where none has.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    layer = program.layer(op)
    if unmet is None or unmet.code != ATTENTION_FEATURES or layer is None:
        return
    constructor = find_constructor(program, layer.path)
    if constructor is None or unmet.got is None or unmet.got.argument == "query":
        return
    text, call = constructor
    words = {word.arg for word in call.keywords}
    if get_called_name(call) != "MultiheadAttention" or words & {"kdim", "vdim", None}:
        return
    sizes = {}
    for argument, keyword in (("key", "kdim"), ("value", "vdim")):
        if argument in failure.arguments:
            shape = op.inputs[failure.arguments.index(argument)].shape
            if shape and shape[-1] != unmet.needs:
                sizes[keyword] = shape[-1]
    names = {size: _find_name(program, layer.path, size) for size in sizes.values()}
    if not sizes or all(names.values()) != is_named or len(call.args) > 6:
        return
    parts = [f"{word}={names[size] or size}" for word, size in sizes.items()]
    last = call.args[-1] if call.args else call.keywords[-1].value
    edit = Edit(text.span(last).end, f", {', '.join(parts)}")
    shown = _write_with(text, call, last, edit.text)
    yield Fix("fits", f"`{shown}`", (edit,))


def suggest_exchanged_widths(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `MultiheadAttention(text_dim, heads, kdim=audio_dim, vdim=audio_dim)`
    where the queries have the width that keys were built for, and the other way round.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    layer = program.layer(op)
    if unmet is None or unmet.code != ATTENTION_FEATURES or layer is None:
        return
    constructor = find_constructor(program, layer.path)
    widths = {
        name: op.inputs[at].shape[-1]
        for at, name in enumerate(failure.arguments[: len(op.inputs)])
        if name in ("query", "key", "value") and op.inputs[at].shape
    }
    if constructor is None or get_called_name(constructor[1]) != "MultiheadAttention":
        return
    sizes = {name: (node, value) for name, node, value in
             iter_arguments(program, layer.path)}  # fmt: skip
    if not {"embed_dim", "kdim"} <= set(sizes) or len(widths) != 3:
        return
    text = constructor[0]
    whole, width = sizes["embed_dim"]
    keyed = [sizes[name] for name in ("kdim", "vdim") if name in sizes]
    is_exchanged = widths["key"] == width and all(
        value == widths["query"] != width for _, value in keyed
    )
    if not is_exchanged or ("vdim" in sizes) != (widths["value"] == width):
        return
    queries, keys = text.written(keyed[0][0]), text.written(whole)
    edits = [Edit(text.span(whole), queries)]
    edits += [Edit(text.span(node), keys) for node, _ in keyed]
    names = [f"{name}={keys}" for name in ("kdim", "vdim") if name in sizes]
    shown = f"{text.written(constructor[1].func)}({queries}, ..., {', '.join(names)})"
    yield Fix("fits", f"`{shown}`", tuple(edits))


def _write_with(text: SourceText, call: ast.Call, last: ast.expr, added: str) -> str:
    """Return a call with more arguments, on one line; of a long one these alone."""
    whole, outer, end = text.written(call), text.span(call), text.span(last).end
    if outer.line != outer.end_line or len(whole) + len(added) > LONGEST:
        return join_lines(added.removeprefix(", "))
    at = end.column - outer.column
    return f"{whole[:at]}{added}{whole[at:]}"


LONGEST = 110
"""Characters of a call that a fix shows."""


def _find_name(program: Program, path: str, size: int) -> str:
    """Return the name that has a size where the layer at a path is built: what another
    layer is built with there, or a parameter; empty if there is none.
    """
    constructor = find_constructor(program, path)
    if constructor is None:
        return ""
    text, call = constructor
    scope = text.around(call, *FUNCTIONS)
    outer = path.rpartition(".")[0]
    for other in program.built:
        if other.rpartition(".")[0] != outer or other == path:
            continue
        for _, node, value in iter_arguments(program, other):
            is_read = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
            own = find_constructor(program, other)
            if own is None or own[0] is not text or not is_read:
                continue
            if value in (size, (size,)) and text.around(node, *FUNCTIONS) is scope:
                return text.written(node)
    width = next((node for _, node, _ in iter_arguments(program, path)), None)
    names = iter_names_for(text, width, size) if width is not None else ()
    return next(iter(names), "")
