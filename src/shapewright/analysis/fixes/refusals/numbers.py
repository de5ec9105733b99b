"""Numbers that an edit may not write: sizes of this run in place of a name."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.spans import apply_edits
from shapewright.program.syntax_nodes import get_called_name

SIZED = operators_with(
    "is_range_factory", "is_sized_factory", "regroups_dims", "takes_sizes"
)
"""Calls whose numbers are sizes of a tensor, not of a layer."""


def has_frozen_size(program: Program, fix: Fix) -> bool:
    """Return whether an edit writes a number among the sizes of a tensor and loses a
    name there: a size of this run (its batch, its length) in place of what gives it.

    Example: ``x.new_zeros(layers, 16, hidden)`` for ``x.new_zeros(layers, batch,
    hidden)``.
    """
    for edit in fix.edits:
        text = program.text(edit.span.file)
        if text is None:
            continue
        before = _find_sized_call(text, edit)
        function = text.around(before, ast.FunctionDef) if before is not None else None
        if function is not None and function.name == "__init__":
            continue  # a size of the model
        after = _read_after(text, edit, before)
        if before is None or after is None:
            continue
        lost = _collect_words(before) - _collect_words(after)
        if lost and _count_numbers(after) > _count_numbers(before):
            return True
    return False


PLAIN = re.compile(r"kernel|stride|pad|group|dilation|epoch|worker", re.IGNORECASE)
"""In the names of settings that are 1 as often as anything else."""


def has_emptied_setting(program: Program, fix: Fix) -> bool:
    """Return whether an edit makes 1 of a setting of the program that counts more:
    frames that are stacked, heads, windows.
    """
    for edit in fix.edits:
        text = program.text(edit.span.file)
        node = text.node(edit.span) if text is not None and edit.text == "1" else None
        if text is None or not isinstance(node, ast.Constant) or node.value in (0, 1):
            continue
        parent = text.parent(node)
        if not isinstance(parent, ast.Assign) or parent.col_offset:
            continue
        if not PLAIN.search(text.written(parent)):
            return True
    return False


def has_smaller_modulus(program: Program, fix: Fix) -> bool:
    """Return whether indices are taken by another modulus, `% 2` for `% 5`: it says how
    many there are to be.
    """
    for edit in fix.edits:
        place = program.node(edit.span)
        around = place[0].parent(place[1]) if place is not None else None
        if place is not None and isinstance(around, ast.BinOp):
            is_modulus = isinstance(around.op, ast.Mod) and around.right is place[1]
            if is_modulus and edit.text != place[0].at(edit.span):
                return True
    return False


def has_broken_square(program: Program, fix: Fix) -> bool:
    """Return whether an edit gives a triangle of one size two sizes.

    Example: ``torch.tril(torch.ones(batch, n))`` for ``torch.tril(torch.ones(n, n))``,
    whose rows and columns are the steps of one sequence.
    """
    for edit in fix.edits:
        text = program.text(edit.span.file)
        before = _find_sized_call(text, edit) if text is not None else None
        if text is None or before is None:
            continue
        outer = text.parent(before)
        is_triangle = isinstance(outer, ast.Call | ast.Attribute) and (
            get_called_name(outer) in TRIANGLES
            if isinstance(outer, ast.Call)
            else outer.attr in TRIANGLES
        )
        after = _read_after(text, edit, before)
        was_square = is_triangle and _is_square(before)
        if was_square and after is not None and not _is_square(after):
            return True
    return False


TRIANGLES = operators_with("keeps_triangle")


def _is_square(call: ast.Call) -> bool:
    """Return whether a call names one size twice."""
    sizes = call.args
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = sizes[0].elts
    return len(sizes) == 2 and ast.unparse(sizes[0]) == ast.unparse(sizes[1])


def _find_sized_call(text: SourceText, edit: Edit) -> ast.Call | None:
    """Return the innermost call with sizes of a tensor around an edit."""
    start, end = (
        (edit.span.line, edit.span.column),
        (
            edit.span.end_line,
            edit.span.end_column,
        ),
    )
    inside = []
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) in SIZED:
            span = text.span(node)
            first, last = (span.line, span.column), (span.end_line, span.end_column)
            if first <= start and end <= last:
                inside.append((first, node))
    return max(inside, key=lambda pair: pair[0])[1] if inside else None


def _read_after(text: SourceText, edit: Edit, call: ast.Call | None) -> ast.Call | None:
    """Return a call as it is after an edit."""
    if call is None:
        return None
    span = text.span(call)
    rest = text.text[len(_get_text_before(text, span.line, span.column)) :]
    whole = apply_edits(text.text, [(edit.span, edit.text)])
    grown = len(whole) - len(text.text)
    written = whole[len(text.text) - len(rest) :][: len(text.written(call)) + grown]
    try:
        node = ast.parse(f"({written})", mode="eval").body
    except SyntaxError:
        return None
    return node if isinstance(node, ast.Call) else None


def _get_text_before(text: SourceText, line: int, column: int) -> str:
    """Return the text in front of a place."""
    rows = text.text.split("\n")
    return "\n".join([*rows[: line - 1], rows[line - 1][: column - 1]])


def _collect_words(call: ast.Call) -> set[str]:
    """Return the names and attributes among the arguments of a call."""
    nodes = [*call.args, *(word.value for word in call.keywords)]
    return {
        ast.unparse(inner)
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name | ast.Attribute)
    }


def _count_numbers(call: ast.Call) -> int:
    """Return how many sizes in a call are numbers alone."""
    sizes: list[ast.expr] = []
    for argument in call.args:
        if isinstance(argument, ast.Tuple | ast.List):
            sizes += argument.elts
        else:
            sizes.append(argument)
    return sum(
        isinstance(size, ast.Constant) and type(size.value) is int and size.value > 1
        for size in sizes
    )


WRITERS = frozenset({"dump", "save", "savez", "savez_compressed", "savetxt", "to_csv",
                     "imwrite", "create_dataset"})  # fmt: skip
"""Functions that write files of data."""
DRAWN = operators_with("is_random") | {
    "uniform", "integers", "choice", "dirichlet", "standard_normal", "random",
}  # fmt: skip


def is_of_written_data(program: Program, fix: Fix) -> bool:
    """Return whether an edit changes a size of random data that a function writes to
    files: they stand for what the program is given.
    """
    for edit in fix.edits:
        text = program.text(edit.span.file)
        node = text.node(edit.span) if text is not None else None
        if text is None or not isinstance(node, ast.Constant):
            continue
        calls = [get_called_name(outer) for outer in text.outwards(node)]
        function = text.around(node, ast.FunctionDef)
        if function is None or not DRAWN.intersection(calls):
            continue
        if any(get_called_name(part) in WRITERS for part in ast.walk(function)):
            return True
    return False
