"""Edits for the list of parameters that an optimizer is given, and its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_lines, find_block, write_after
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.parameter_lists import (
    ParameterList,
    find_unlisted,
    iter_parameter_lists,
)
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_last_line,
)

MOST = 3
"""Modules that are tried in a list."""
UNLISTED = re.compile(r"`[A-Z]\w*\.(\w+)(?:\.\w+)*`")
"""A parameter by its path, with the child of the model that has it."""


def suggest_listed_modules(text: SourceText) -> Iterator[Fix]:
    """Suggest a module that no optimizer has: in the place of one that a list has
    twice, or beside the others.
    """
    lists = list(iter_parameter_lists(text))
    lists.sort(key=lambda listed: listed.repeated is None)
    for listed in lists:
        for name in find_unlisted(text, listed)[:MOST]:
            repeated = listed.repeated
            if repeated is not None:
                new = f"{name}.parameters()"
                yield Fix("fits", f"`{new}`", (Edit(text.span(repeated), new),))
            else:
                yield from _suggest_longer_list(text, listed, name)


def _suggest_longer_list(
    text: SourceText, listed: ParameterList, name: str
) -> Iterator[Fix]:
    """Suggest a list with the parameters of one more module."""
    expr = listed.listed
    written = text.written(expr)
    if expr is listed.parts[0] and len(listed.parts) == 1:
        new = f"[*{written}, *{name}.parameters()]"
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        new = f"{written} + list({name}.parameters())"
    elif isinstance(expr, ast.Call) and get_called_name(expr) == "chain":
        new = f"{written[:-1]}, {name}.parameters())"
    elif isinstance(expr, ast.List) and isinstance(expr.elts[0], ast.Starred):
        new = f"{written[:-1]}, *{name}.parameters()]"
    else:
        return
    yield Fix("fits", f"`{new}`", (Edit(text.span(expr), new),))


def suggest_parameter_group(finding: Finding, text: SourceText) -> Iterator[Fix]:
    """Suggest a group for a child of a model beside those of other children:
    `{"params": model.neck.parameters()}`.
    """
    children = dict.fromkeys(UNLISTED.findall(finding.message))
    for node in reversed(text.nodes):
        if not isinstance(node, ast.Dict) or len(children) != 1:
            continue
        group, around = _read_group(text, node), text.parent(node)
        if group is None:
            continue
        owner, quote = group
        new = f"{{{quote}params{quote}: {owner}.{next(iter(children))}.parameters()}}"
        statement = text.around(node, ast.stmt)
        if isinstance(statement, ast.AugAssign) and isinstance(around, ast.List):
            line = f"{text.written(statement.target)} += [{new}]"
        elif isinstance(around, ast.Call) and get_called_name(around) == "append":
            line = f"{text.written(around.func)}({new})"
        elif isinstance(around, ast.List):
            written = text.written(node)
            edit = Edit(text.span(node), f"{written}, {new}")
            yield Fix("fits", f"`{new}`", (edit,))
            return
        else:
            continue
        if statement is not None:
            yield Fix("fits", f"`{line}`", (write_after(text, statement, line),))
            return


def _read_group(text: SourceText, node: ast.Dict) -> tuple[str, str] | None:
    """Return the model whose child a group has, and the quotes of its keys."""
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or key.value != "params":
            continue
        for inner in ast.walk(value):
            if not isinstance(inner, ast.Call):
                continue
            child = get_receiver(inner)
            if get_called_name(inner) == "parameters" and isinstance(
                child, ast.Attribute
            ):
                return text.written(child.value), text.written(key)[0]
    return None


def suggest_kept_model(
    text: SourceText, built: ast.stmt, again: ast.stmt
) -> Iterator[Fix]:
    """Suggest to leave out the statement in a loop that builds the model of an
    optimizer once more.
    """
    if not isinstance(again, ast.Assign) or text.around(again, *LOOPS) is None:
        return
    for other in text.nodes:
        is_first = isinstance(other, ast.Assign) and other.lineno < built.lineno
        if not is_first or not isinstance(other, ast.Assign):
            continue
        if text.line_of(other) == text.line_of(again):
            shown = join_lines(text.written(again))
            yield Fix("fits", f"without `{shown}`", (cut_lines(text, again),))
            return


def suggest_later_statement(
    text: SourceText, built: ast.stmt, changed: ast.stmt
) -> Iterator[Fix]:
    """Suggest to build an optimizer, and what is built of it, behind the statement
    that makes the model whole: `model.fc = nn.Linear(512, 5)`. Where a function builds
    it, its call is moved.
    """
    built = _find_building_call(text, built, changed)
    block = find_block(text, built)
    last = _find_in_block(text, block, built, changed)
    if last is None or not isinstance(built, ast.Assign | ast.AnnAssign):
        return
    first, end = block.index(built), block.index(last)
    names: list[str] = _list_targets(text, built)
    moved: list[ast.stmt] = [built]
    for statement in block[first + 1 : end]:
        if isinstance(statement, FUNCTIONS):
            continue  # it reads them when it is called
        if _is_reading(text, statement, names):
            moved.append(statement)
            names += _list_targets(text, statement)
    if end <= first or _is_reading(text, last, names):
        return
    rows = [text.written(statement) for statement in moved]
    indent = text.lines[last.lineno - 1][: last.col_offset]
    new = write_after(text, last, f"\n{indent}".join(rows))
    cuts = [cut_lines(text, statement) for statement in moved]
    shown = join_lines(rows[0])
    shown = shown if len(shown) <= 80 else f"{shown[:76]} ..."
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    message = f"`{shown}`{more} after line {get_last_line(last)}"
    yield Fix("fits", message, (*cuts, new))


def _find_building_call(
    text: SourceText, built: ast.stmt, changed: ast.stmt
) -> ast.stmt:
    """Return the last assignment above the change of a model that calls the function in
    which an optimizer is built; the statement itself, if that is in no function.
    """
    function = text.around(built, *FUNCTIONS)
    block = find_block(text, changed)
    if function is None or built in block:
        return built
    calls = [
        statement
        for statement in block
        if isinstance(statement, ast.Assign)
        and statement.lineno < changed.lineno
        and get_called_name(statement.value) == getattr(function, "name", "")
    ]
    return calls[-1] if calls else built


def _find_in_block(
    text: SourceText, block: list[ast.stmt], built: ast.stmt, changed: ast.stmt
) -> ast.stmt | None:
    """Return the statement of a block that changes a model, perhaps with a call of the
    function in which that is done.
    """
    for around in (changed, *text.outwards(changed)):
        if isinstance(around, FUNCTIONS):
            break
        if around in block and isinstance(around, ast.stmt):
            return around
    function = text.around(changed, ast.FunctionDef)
    behind = block[block.index(built) + 1 :] if function is not None else []
    return next(
        (
            statement
            for statement in behind
            for node in ast.walk(statement)
            if function is not None and get_called_name(node) == function.name
        ),
        None,
    )


def _list_targets(text: SourceText, statement: ast.stmt) -> list[str]:
    """Return what a statement assigns, as it is written."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    parts = [
        part
        for target in targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return [text.line_of(part) for part in parts]


def _is_reading(text: SourceText, statement: ast.stmt, names: list[str]) -> bool:
    """Return whether a statement has one of these names or attributes."""
    return any(
        isinstance(node, ast.Name | ast.Attribute) and text.line_of(node) in names
        for node in ast.walk(statement)
    )
