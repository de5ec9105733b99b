"""Which dim is time: `batch_first=True` for a layer, and positions along dim 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.hazards.batch_first import TIME
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Op

ORDERED = (
    "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer",
    "MultiheadAttention", "LSTM", "GRU", "RNN",
)  # fmt: skip
"""Layers with `batch_first`."""


def suggest_batch_first(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `batch_first=True` where the layer is built, with positions that are
    added along dim 1, or a transpose around it.
    """
    layers = list(_iter_batch_first(program, finding))
    yield from layers
    for positions in _iter_positions(program):
        for fix in layers:
            message = f"{fix.message} and {positions.message}"
            yield Fix("fits", message, (*fix.edits, *positions.edits))
    if isinstance(node, ast.Call) and len(node.args) > 0:
        first = node.args[0]
        yield append_method(text, first, ".transpose(0, 1)")


def suggest_positions(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest positions along dim 1 where they were added along the batch."""
    yield from _iter_positions(program)
    if "positions are counted along dim 0" in finding.message:
        yield from _suggest_counted_steps(text, node)


def _suggest_counted_steps(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Suggest `arange(x.size(1)).unsqueeze(0)` for positions that count the samples."""
    function = text.around(node, *FUNCTIONS)
    for call in ast.walk(function) if function is not None else ():
        if get_called_name(call) != "arange" or not isinstance(call, ast.Call):
            continue
        counted = call.args[-1] if len(call.args) in (1, 2) else None
        dim = _find_size_dim(counted)
        if counted is None:
            continue
        if dim is not None and evaluate_whole_number(dim) == 0:
            edit, new = Edit(text.span(dim), "1"), "size(1)"
        elif isinstance(counted, ast.Name):
            named = _find_other_size(text, function, counted)
            if named is None:
                continue
            edit, new = named
        else:
            continue
        turned = _find_added_dim(text, call) or _find_added_dim(text, node)
        if turned is None:
            yield Fix("fits", f"`{new}` for the positions", (edit,))
        else:
            message = f"`{new}` and `{turned[1]}` for the positions"
            yield Fix("fits", message, (edit, turned[0]))


def _find_other_size(
    text: SourceText, function: ast.AST | None, counted: ast.Name
) -> tuple[Edit, str] | None:
    """Return an edit for a name that is the first size of a shape: the second name, or
    both exchanged where the first is one of time.
    """
    for statement in ast.walk(function) if function is not None else ():
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else []
        is_shape = ast.unparse(statement.value).endswith((".shape", ".size()"))
        if not is_shape or len(names) < 2:
            continue
        first, second = map(ast.unparse, names[:2])
        if first != counted.id or not isinstance(names[1], ast.Name) or second == "_":
            continue
        if not TIME.fullmatch(first):
            return Edit(text.span(counted), second), f"arange({second})"
        rest = [ast.unparse(name) for name in names[2:]]
        new = ", ".join([second, first, *rest])
        return Edit(text.span(target), new), f"{new} = {ast.unparse(statement.value)}"
    return None


def _find_added_dim(text: SourceText, node: ast.AST) -> tuple[Edit, str] | None:
    """Return an edit that adds dim 0 where dim 1 is added to the rows of positions."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    for part in ast.walk(statement):
        if get_called_name(part) == "unsqueeze" and isinstance(part, ast.Call):
            added = part.args[0] if part.args else None
            if added is not None and evaluate_whole_number(added) in (1, -1, -2):
                return Edit(text.span(added), "0"), "unsqueeze(0)"
        if isinstance(part, ast.Subscript):
            items = part.slice.elts if isinstance(part.slice, ast.Tuple) else []
            if [ast.unparse(item) for item in items[:2]] == [":", "None"]:
                return Edit(text.span(part.slice), "None"), "[None]"
    return None


def _iter_batch_first(program: Program, finding: Finding) -> Iterator[Fix]:
    """Yield `batch_first=True` where the layer of a finding, or one like it, is
    built.
    """
    op = program.op_at(finding.span, finding.module)
    layer = program.layer(op) if op is not None else None
    path = layer.path if layer is not None else ""
    while path:
        build_call = program.built.get(path)
        call = program.call_at(build_call.span) if build_call is not None else None
        if call is not None:
            keywords = {word.arg: word.value for word in call[1].keywords}
            if "batch_first" not in keywords and build_call is not None:
                yield with_keyword(*call, "batch_first=True")
            elif isinstance(keywords.get("batch_first"), ast.Constant):
                edit = Edit(call[0].span(keywords["batch_first"]), "True")
                yield Fix("fits", "`batch_first=True`", (edit,))
        path = path.rpartition(".")[0]
    for file in program.trace.sources:
        where = program.text(file)
        for call_node in where.nodes if where is not None else ():
            named = get_called_name(call_node) in ORDERED
            if where is None or not named or not isinstance(call_node, ast.Call):
                continue
            if all(word.arg != "batch_first" for word in call_node.keywords):
                yield with_keyword(where, call_node, "batch_first=True")


def _iter_positions(program: Program) -> Iterator[Fix]:
    """Yield `pe[: x.size(1)].transpose(0, 1)` for a table of positions that has its
    rows in dim 0 and one row for all samples in dim 1.
    """
    seen = set()
    for op in program.trace.ops:
        if op.name != "[]" or op.span in seen or not _is_table_of_steps(program, op):
            continue
        seen.add(op.span)
        text_and_node = program.node(op.span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        if not isinstance(node, ast.Subscript):
            continue
        dim = find_counted_dim(node)
        if dim is not None:
            method = ".transpose(0, 1)"
            edits = (Edit(text.span(dim), "1"), Edit(text.span(node).end, method))
            new = f"{text.written(node.value)}[...]{method}"
            yield Fix("fits", f"`{join_lines(new)}` with `size(1)`", edits)


def _is_table_of_steps(program: Program, op: Op) -> bool:
    """Return whether a table of the model is cut that is laid out (steps, 1, features),
    as it is added to data with the time in dim 0.
    """
    table = op.inputs[0] if op.inputs else None
    return (
        table is not None
        and table.tensor in program.states
        and len(table.shape) == 3
        and table.shape[1] == 1 < table.shape[0]
    )


def find_counted_dim(node: ast.Subscript) -> ast.expr | None:
    """Return the `0` of `table[: x.size(0)]` or of `table[: x.shape[0], :]`."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    upper = items[0].upper if isinstance(items[0], ast.Slice) else None
    dim = _find_size_dim(upper)
    return dim if dim is not None and evaluate_whole_number(dim) == 0 else None


def _find_size_dim(upper: ast.expr | None) -> ast.expr | None:
    """Return the dim of `x.size(0)` or `x.shape[0]`."""
    dim = None
    if isinstance(upper, ast.Call) and get_called_name(upper) == "size" and upper.args:
        dim = upper.args[0]
    if isinstance(upper, ast.Subscript) and isinstance(upper.value, ast.Attribute):
        dim = upper.slice if upper.value.attr == "shape" else None
    return dim
