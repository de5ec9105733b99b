"""A size of one expression that has two values, since its name was set anew between:
`dim * 4` before and behind `dim = dim * m`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.constructors import find_size_pairs
from shapewright.analysis.fixes.statements import find_block, write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names


def suggest_first_value(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a name of its own, `temb = dim * 4`, for a size that is written by an
    expression of a name that is set anew in between.
    """
    pairs = find_size_pairs(program, failure)
    path = program.trace.ops[failure.op].module
    while path:
        place = find_constructor(program, path)
        arguments = iter_arguments(program, path) if place is not None else ()
        for name, node, _ in arguments:
            if place is not None and isinstance(node, ast.BinOp | ast.Name):
                yield from _suggest_name(program, place[0], name, node, pairs)
        path = path.rpartition(".")[0]


def _suggest_name(
    program: Program,
    text: SourceText,
    parameter: str,
    node: ast.expr,
    pairs: list[tuple[int, int]],
) -> Iterator[Fix]:
    """Suggest a name for the first value of an expression of a constructor."""
    scope = text.around(node, *FUNCTIONS)
    names = collect_names(node)
    if scope is None or len(names) != 1:
        return
    (name,) = names
    written = text.written(node)
    alike = [
        other
        for other in ast.walk(scope)
        if isinstance(other, ast.expr)
        and type(other) is type(node)
        and isinstance(getattr(other, "ctx", ast.Load()), ast.Load)
        and text.written(other) == written
    ]
    alike.sort(key=lambda other: (other.lineno, other.col_offset))
    setting = [
        part
        for part in ast.walk(scope)
        if isinstance(part, ast.Assign | ast.AugAssign)
        and name in _collect_targets(part)
        and alike[0].lineno < part.lineno
    ]
    has_other = any(
        value == has and other is alike[0]
        for has, _ in pairs
        for module in program.built
        for _, other, value in iter_arguments(program, module)
    )
    if not setting or not has_other or alike[0] is node:
        return
    block: ast.stmt | None = text.statement_of(alike[0])
    while block is not None and text.parent(block) is not scope:
        around = text.parent(block)
        block = around if isinstance(around, ast.stmt) else None
    own = _choose_name(scope, parameter, name)
    if block is None or not find_block(text, block) or not own:
        return
    above = write_before(text, block, f"{own} = {written}")
    places = alike if isinstance(node, ast.BinOp) else [node]
    edits = (above, *(Edit(text.span(other), own) for other in places))
    shown = f"`{own} = {join_lines(written)}` above, and `{own}` for `{written}`"
    yield Fix("fits", shown, edits)


def _choose_name(scope: ast.AST, parameter: str, name: str) -> str:
    """Return a name that a function does not use yet: that of the parameter."""
    used = {part.id for part in ast.walk(scope) if isinstance(part, ast.Name)}
    used |= {part.arg for part in ast.walk(scope) if isinstance(part, ast.arg)}
    options = (parameter, f"{parameter}_{name}", f"first_{name}")
    return next((option for option in options if option not in used), "")


def _collect_targets(statement: ast.Assign | ast.AugAssign) -> set[str]:
    """Return the names that a statement sets."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    else:
        targets = [statement.target]
    return {name for target in targets for name in collect_names(target)}
