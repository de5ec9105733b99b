"""Fixes that change a word: toggle a flag, add a keyword, swap a method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.suspect_lines import Line, iter_nodes_on
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.padded_sequences import find_turned_sequence
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    PACKED_LENGTHS,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_imports, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_last_name, get_shape_owner
from shapewright.record.ops import Fact

PARTS = operators_with("splits")
RECURRENT = frozenset({"LSTM", "GRU", "RNN", "MultiheadAttention"})
SEQUENTIAL = frozenset({
    "Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer"
})  # fmt: skip
"""Layers whose inputs have the time first, and which say nothing else of it."""
REDUCING = operators_with("reduces_dims", "returns_indices") - {
    "count_nonzero",
    "multinomial",
}
"""Functions that take `keepdim`."""
PADDING_AT = 4
"""The place of a convolution's padding among its arguments."""
TURNED = values_of("mistaken_for")
"""Functions that are taken for each other."""


def find_word_fixes(program: Program, span: Span | None) -> Iterator[Fix]:
    """Yield fixes that change a word on the lines of an error."""
    if span is not None:
        lines = [(span.file, n) for n in range(span.line, span.end_line + 1)]
        yield from _suggest_unpacking(program, lines)
        yield from suggest_keywords(program, lines)
        yield from suggest_flags(program, lines)
        yield from suggest_methods(program, lines)


def suggest_keywords(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest `batch_first=True`, `keepdim=True` and other keywords that are often
    forgotten.
    """
    for text, node in iter_nodes_on(program, lines, ast.Call):
        name = get_last_name(node.func)
        if _is_layer_call(node.func):
            continue
        keywords = {word.arg for word in node.keywords}
        if name in RECURRENT and "batch_first" not in keywords:
            yield with_keyword(text, node, "batch_first=True")
        if (
            name in REDUCING
            and "keepdim" not in keywords
            and (node.args or node.keywords)
        ):
            yield with_keyword(text, node, "keepdim=True")
        pools = name.startswith(("MaxPool", "AvgPool", "max_pool", "avg_pool"))
        if pools and "ceil_mode" not in keywords:
            yield with_keyword(text, node, "ceil_mode=True")
        count = len(node.args)
        is_conv = name.startswith(("Conv", "conv")) and count <= PADDING_AT
        if is_conv and "padding" not in keywords:
            yield with_keyword(text, node, "padding=1")
        is_transposed = name.startswith("ConvTranspose") and count <= PADDING_AT + 1
        if is_transposed and "output_padding" not in keywords:
            yield with_keyword(text, node, "output_padding=1")


def suggest_batch_first(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `batch_first=True` where the failing layer of sequences is built."""
    layer = program.layer(program.trace.ops[failure.op])
    built = program.built.get(layer.path) if layer is not None else None
    text_and_call = program.call_at(built.span) if built is not None else None
    if text_and_call is None or built is None or built.class_name not in SEQUENTIAL:
        return
    text, call = text_and_call
    is_of_torch = not program.defines_class(built.class_name)
    if (
        is_of_torch
        and get_last_name(call.func) == built.class_name
        and all(word.arg != "batch_first" for word in call.keywords)
    ):
        yield with_keyword(text, call, "batch_first=True")


def _is_layer_call(node: ast.expr) -> bool:
    """Return whether a node is `self.pool` of a layer call `self.pool(x)`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def suggest_flags(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest `True` for `False` and vice versa.

    A layer that is to read in both directions is not made to read in one: what takes
    its features has the wrong size then.
    """
    for text, node in iter_nodes_on(program, lines, ast.Constant):
        if type(node.value) is bool:
            span = text.span(node)
            new = str(not node.value)
            word = text.parent(node)
            name = word.arg if isinstance(word, ast.keyword) else ""
            if node.value and name == "bidirectional":
                continue
            setting = f"{word.arg}={new}" if isinstance(word, ast.keyword) else new
            yield Fix("fits", f"`{setting}`", (Edit(span, new),))


FAMILIES = (
    (("conv", "pool", "fold"), ("kernel_size", "stride", "padding", "dilation")),
    (("lstm", "gru", "rnn"), ("num_layers", "bidirectional", "batch_first")),
)
"""What calls that go together are named like, and the settings that they share."""


def copy_settings(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Copy a stride, a padding or a number of layers from a similar call nearby."""
    calls = [
        (text, node)
        for text, node in iter_nodes_on(program, lines, ast.Call)
        if not _is_layer_call(node.func)
    ]
    for names, settings in FAMILIES:
        family_calls = [
            (text, node)
            for text, node in calls
            if any(name in get_last_name(node.func).lower() for name in names)
        ]
        for text, node in family_calls:
            for other, model in family_calls:
                if text.file == other.file:
                    yield from _replace_settings(text, node, model, settings)


def _replace_settings(
    text: SourceText, node: ast.Call, model: ast.Call, settings: tuple[str, ...]
) -> Iterator[Fix]:
    """Yield fixes that copy the settings of another call."""
    keywords = {word.arg: word.value for word in node.keywords}
    for word in model.keywords:
        if word.arg not in settings:
            continue
        old, value = keywords.get(word.arg), text.written(word.value)
        if old is None:
            yield with_keyword(text, node, f"{word.arg}={value}")
        elif text.written(old) != value:
            message = f"`{word.arg}={value}`"
            yield Fix("fits", message, (Edit(text.span(old), value),))


def drop_methods(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Drop a method call, such as `.unsqueeze(1)` in `x.unsqueeze(1)`."""
    for text, node in iter_nodes_on(program, lines, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in SHAPING:
            inner, outer = text.owner_span(node.func), text.span(node)
            if inner.end_line != outer.end_line:
                continue
            cut = inner.end.until(outer)
            gone = text.at(cut)
            kept = text.at(inner)
            if kept in find_imports(text) or len(kept) > 60:
                continue
            message = f"`{kept}` without `{gone}`"
            yield Fix("fits", message, (Edit(cut, ""),))


SHAPING = operators_with("may_be_superfluous")


def suggest_methods(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest the function that is often confused with the one in the text."""
    for text, node in iter_nodes_on(program, lines, ast.Call):
        name = get_last_name(node.func)
        if name in TURNED:
            whole = text.span(node.func)
            start = whole.end_column - len(name)
            span = Span(
                whole.file, whole.end_line, start, whole.end_line, whole.end_column
            )
            message = f"`{TURNED[name]}` for `{name}`"
            yield Fix("fits", message, (Edit(span, TURNED[name]),))


def _suggest_unpacking(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest `B, C, H, W = x.shape` with another number of names."""
    for file, number in lines:
        text = program.text(file)
        for node in text.near(number) if text is not None else ():
            if not isinstance(node, ast.Assign) or text is None:
                continue
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                yield from _suggest_chunks(text, node.value, len(target.elts))
            if isinstance(target, ast.Tuple) and get_shape_owner(node.value):
                first = text.span(target.elts[0])
                start = Span(
                    first.file, first.line, first.column, first.line, first.column
                )
                assignment = text.written(node)
                for names in ("_, ", "*_, "):
                    yield Fix("fits", f"`{names}{assignment}`", (Edit(start, names),))
                last = text.span(target.elts[-1])
                end = Span(
                    last.file,
                    last.end_line,
                    last.end_column,
                    last.end_line,
                    last.end_column,
                )
                yield Fix("fits", f"`{text.written(target)}, _`", (Edit(end, ", _"),))


def _suggest_chunks(text: SourceText, call: ast.Call, parts: int) -> Iterator[Fix]:
    """Suggest `chunk(2, dim=1)` for a call that returned an unexpected number of
    parts.
    """
    name = get_last_name(call.func)
    if name not in PARTS or not isinstance(call.func, ast.Attribute):
        return
    words = {word.arg: text.written(word.value) for word in call.keywords}
    arguments = [text.written(argument) for argument in call.args]
    at = 0 if name == "unbind" else 1
    dim = words.get("dim") or (arguments[at] if len(arguments) > at else "0")
    kept = text.written(call.func.value)
    span = text.owner_span(call.func).end.until(text.span(call))
    new = f".chunk({parts}, dim={dim})"
    yield Fix("fits", f"`{kept}{new}`", (Edit(span, new),))


def with_keyword(text: SourceText, node: ast.Call, word: str) -> Fix:
    """Add a keyword to a call."""
    span = text.span(node)
    end = Span(
        span.file,
        span.end_line,
        span.end_column - 1,
        span.end_line,
        span.end_column - 1,
    )
    comma = ", " if node.args or node.keywords else ""
    shown = join_lines(text.written(node))
    if text.written(node).rstrip(")").rstrip().endswith(","):
        comma = " "
    message = f"`{shown[:-1]}{comma}{word})`" if len(shown) <= 60 else f"`{word}`"
    return Fix("fits", message, (Edit(end, f"{comma}{word}"),))


def fix_padded_sequence(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest samples first for a padded sequence that meets what has them first, and
    the keyword that reads lengths as they are.
    """
    unmet = failure.unmet
    if unmet is not None and unmet.code == PACKED_LENGTHS:
        yield from _suggest_packing_keywords(program, failure, unmet.message)
    for fact in program.trace.ops[failure.op].inputs:
        yield from suggest_samples_first(program, fact)
    if unmet is not None and unmet.code in OF_BATCHES:
        for fact in program.trace.ops[failure.op].inputs:
            yield from _suggest_padding_keyword(program, fact)


OF_BATCHES = frozenset({BATCH_DIM_MISMATCH, BROADCAST_MISMATCH, TARGET_SHAPE})
"""Codes where samples may have been padded with the time first."""


def _suggest_padding_keyword(program: Program, fact: Fact) -> Iterator[Fix]:
    """Suggest `batch_first=True` where sequences are padded to one length."""
    for maker in iter_first_makers(program, fact):
        text_and_call = program.call_at(maker.span)
        if text_and_call is not None:
            text, call = text_and_call
            is_padding = get_last_name(call.func) == "pad_sequence"
            if is_padding and all(word.arg != "batch_first" for word in call.keywords):
                yield with_keyword(text, call, "batch_first=True")
                return


def _suggest_packing_keywords(
    program: Program, failure: Failure, message: str
) -> Iterator[Fix]:
    """Suggest the keyword that the message on a packing call names."""
    where = program.call_at(program.trace.ops[failure.op].span)
    if where is not None and "at least 1" in message and len(where[1].args) > 1:
        lengths = where[1].args[1]
        new = f"{where[0].written(lengths)}.clamp(min=1)"
        edit = Edit(where[0].span(lengths).end, ".clamp(min=1)")
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))
    word = re.search(r"`((?:enforce_sorted|batch_first)=(?:True|False))`", message)
    if where is None or word is None:
        return
    text, call = where
    name, _, value = word[1].partition("=")
    present = [keyword for keyword in call.keywords if keyword.arg == name]
    if present:
        edit = Edit(text.span(present[0].value), value)
        yield Fix("fits", f"`{word[1]}`", (edit,))
    else:
        yield with_keyword(text, call, word[1])


def suggest_samples_first(program: Program, fact: Fact) -> Iterator[Fix]:
    """Suggest `batch_first=True` where a sequence was padded, if it was packed so."""
    padded = find_turned_sequence(program, fact)
    text_and_call = program.call_at(padded.span) if padded is not None else None
    if (
        text_and_call is None
        or get_last_name(text_and_call[1].func) != "pad_packed_sequence"
    ):
        return
    text, call = text_and_call
    keywords = {word.arg: word.value for word in call.keywords}
    if "batch_first" in keywords:
        edit = Edit(text.span(keywords["batch_first"]), "True")
        yield Fix("fits", "`batch_first=True`", (edit,))
    elif len(call.args) == 1:
        yield with_keyword(text, call, "batch_first=True")
