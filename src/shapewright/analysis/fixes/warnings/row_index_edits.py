"""Edits of indices that have an entry for each row, or stand for what they choose."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.hazards.step_numbers import iter_step_places
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import iter_assignments
from shapewright.record.ops import Op


def suggest_step_of_place(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `int(steps[i])` for `i` in what a network is given."""
    for where, place in iter_step_places(program):
        if where.file == text.file and text.span(place.call) == finding.span:
            new = f"{place.table}[{place.index.id}]"
            around = text.parent(place.index)
            if around is not place.call and not isinstance(around, ast.stmt):
                new = f"int({new})"
            edit = Edit(text.span(place.index), new)
            yield Fix("fits", f"`{new}` for `{place.index.id}`", (edit,))
            return


def suggest_element_of_each_row(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x[torch.arange(len(x)), index]` for `x[:, index]`, and `gather`; for a
    row of indices in `gather` a column.
    """
    op = program.op_at(finding.span, finding.module)
    if op is not None and "is not stretched" in finding.message:
        yield from _suggest_stretched_index(program, op, text)
        return
    if op is not None and op.name.endswith("gather"):
        yield from _suggest_column_of_indices(program, op, text)
        return
    rows: ast.expr | None = None
    index: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        rows, index = node.value, node.slice.elts[-1]
    elif isinstance(node, ast.Call) and node.args:
        places = find_tensor_expressions(program, op) if op is not None else []
        if len(places) == 2 and places[0] is not None and places[1] is not None:
            rows, index = places[0][0], places[1][0]
    if rows is None or index is None or not isinstance(node, ast.expr):
        return
    owner, columns = text.written(rows), text.written(index)
    is_name = isinstance(rows, ast.Name | ast.Attribute)
    if is_name and any(isinstance(n, ast.Name) and n.id == "torch" for n in text.nodes):
        new = f"{owner}[torch.arange(len({owner})), {columns}]"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
    if not isinstance(index, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        columns = f"({columns})"
    new = f"{owner}.gather(1, {columns}.unsqueeze(1)).squeeze(1)"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _suggest_stretched_index(
    program: Program, op: Op, text: SourceText
) -> Iterator[Fix]:
    """Suggest `index.expand_as(source)`, and for `gather` `index.expand(-1, 8)` with
    the size of what is read.
    """
    places = find_tensor_expressions(program, op)
    index = places[1] if len(places) > 1 else None
    source = places[-1] if len(places) > 2 else None
    read = places[0] if places else None
    if index is None:
        return
    whole = op.inputs[-1].shape if len(places) > 2 else op.inputs[0].shape
    if source is not None and isinstance(source[0], ast.Name | ast.Attribute):
        new = f".expand_as({text.written(source[0])})"
    elif read is not None and isinstance(read[0], ast.Name | ast.Attribute):
        sizes = [
            f"{text.written(read[0])}.size({at})" if ours == 1 < theirs else "-1"
            for at, (ours, theirs) in enumerate(
                zip(op.inputs[1].shape, whole, strict=True)
            )
        ]
        if any(
            size != "-1" and op.inputs[0].shape[at] != whole[at]
            for at, size in enumerate(sizes)
        ):
            return
        new = f".expand({', '.join(sizes)})"
    else:
        return
    yield append_method(text, index[0], new)


def _suggest_column_of_indices(
    program: Program, op: Op, text: SourceText
) -> Iterator[Fix]:
    """Suggest `index.unsqueeze(1)` for `index.unsqueeze(0)`, where it is written in the
    call or for the name that the call reads.
    """
    places = find_tensor_expressions(program, op)
    place = places[1] if len(places) > 1 else None
    if place is None:
        return
    index = place[0]
    if isinstance(index, ast.Name):
        scope = text.around(index, ast.FunctionDef, ast.Module)
        values = [
            value
            for target, value in iter_assignments(scope, before=index.lineno)
            if isinstance(target, ast.Name) and target.id == index.id
        ]
        index = values[-1] if values else index
    new = ""
    if isinstance(index, ast.Call) and isinstance(index.func, ast.Attribute):
        owner, call = text.written(index.func.value), ast.unparse(index)
        new = {
            "unsqueeze(0)": f"{owner}.unsqueeze(1)",
            "view(1, -1)": f"{owner}.view(-1, 1)",
            "reshape(1, -1)": f"{owner}.reshape(-1, 1)",
        }.get(call.rpartition(".")[2], "")
    elif isinstance(index, ast.Subscript) and ast.unparse(index.slice) == "None":
        new = f"{text.written(index.value)}[:, None]"
    if new:
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(index), new),))
