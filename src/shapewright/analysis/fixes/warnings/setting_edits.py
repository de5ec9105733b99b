"""Edits for attributes that are set too late: before `super().__init__()`, or what was
built of them built anew; for options that are not handed on, and for parameters that
are to be frozen by their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import cut_lines, write_after
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.late_settings import (
    LateSetting,
    iter_late_settings,
)
from shapewright.analysis.training_mistakes.unmatched_patterns import find_name_test
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_last_line,
    get_own_attribute,
)


def suggest_early_setting(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to set attributes before `super().__init__()` reads them, or to build
    anew what was built of them.
    """
    for late in iter_late_settings(program):
        if late.text.file != text.file or node not in late.settings:
            continue
        if f"`{text.written(late.building.targets[0])}` of" not in finding.message:
            continue
        if all(_is_movable(late, setting) for setting in late.settings):
            yield _move_settings(late)
        yield from _build_anew(late)


def _is_movable(late: LateSetting, setting: ast.Assign) -> bool:
    """Return whether a setting reads nothing that exists only behind the call of the
    base class: attributes of the class, parameters and names of the file.
    """
    owners = [late.owner, late.text.around(late.building, ast.ClassDef)]
    known = {
        name
        for owner in owners
        if owner is not None
        for part in owner.body
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.FunctionDef)
        for name in (
            [part.name]
            if isinstance(part, ast.FunctionDef)
            else collect_names(part, ast.Store)
        )
    }
    read = {
        get_own_attribute(part)
        for part in ast.walk(setting.value)
        if isinstance(part, ast.Attribute)
    } - {""}
    own = late.text.around(setting, *FUNCTIONS)
    body = own.body if isinstance(own, ast.FunctionDef) else []
    local = {name for part in body for name in collect_names(part, ast.Store)}
    inner = collect_names(setting.value, ast.Store)
    return read <= known and not (collect_names(setting.value) - inner) & local


def _move_settings(late: LateSetting) -> Fix:
    """Return the edits that set attributes above the call of the base class."""
    text, start = late.text, late.start
    rows = [
        row
        for setting in late.settings
        for row in text.lines[setting.lineno - 1 : get_last_line(setting)]
    ]
    span = Span(text.file, start.lineno, 1, start.lineno, 1)
    edits = [Edit(span, "\n".join(rows) + "\n")]
    edits += [cut_lines(text, setting) for setting in late.settings]
    names = " and ".join(f"`{text.written(s.targets[0])}`" for s in late.settings)
    message = f"{names} set before `{join_lines(text.written(start))}`"
    return Fix("fits", message, tuple(edits))


def _build_anew(late: LateSetting) -> Iterator[Fix]:
    """Yield the edit that builds an object again behind the settings, if all that it is
    built of has the same names there.
    """
    text, building = late.text, late.building
    function = text.around(building, *FUNCTIONS)
    if not isinstance(function, ast.FunctionDef):
        return
    local = {argument.arg for argument in function.args.args} - {"self"}
    local |= {name for part in function.body for name in collect_names(part, ast.Store)}
    inner = collect_names(building.value, ast.Store)
    if (collect_names(building.value) - inner) & local:
        return
    new = join_lines(text.written(building))
    yield Fix("fits", f"`{new}`", (write_after(text, late.settings[-1], new),))


def suggest_kept_setting(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `if not hasattr(self, "norm"):` around the statement of a base class that
    overwrites an attribute.
    """
    if "this setting has no effect" not in finding.message or not finding.related:
        return
    place = program.node(finding.related[0].span)
    again = place[1] if place is not None and place[0] is text else None
    if not isinstance(again, ast.Assign) or again.lineno != again.end_lineno:
        return
    name = get_own_attribute(again.targets[0])
    indent = text.lines[again.lineno - 1][: again.col_offset]
    asked = f'if not hasattr(self, "{name}"):'
    new = f"{asked}\n{indent}    {text.written(again)}"
    shown = f"`{asked}` around `{text.written(again)}`"
    yield Fix("fits", shown, (Edit(text.span(again), new),))


UNREAD = re.compile(r"^(?:the option|`(\w+)\[).*is called without `(\w+)`")


def suggest_unread_option(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to hand on a setting that nothing reads, as others of it are."""
    unread = UNREAD.search(finding.message)
    if unread is None or not isinstance(node, ast.Call):
        return
    name = unread[2]
    if unread[1]:
        yield with_keyword(text, node, f'{name}={unread[1]}["{name}"]')
        return
    for word in node.keywords:
        if isinstance(word.value, ast.Attribute):
            owner = text.written(word.value.value)
            yield with_keyword(text, node, f"{name}={owner}.{name}")
            return


def suggest_frozen_parameters(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to compare the names of parameters as well, behind the loop over those of
    modules.
    """
    loop = text.around(node, ast.For)
    if loop is None or find_name_test(text, loop) is not node:
        return
    if not isinstance(node, ast.expr) or not isinstance(loop.target, ast.Tuple):
        return
    owner = text.written(loop.iter).replace("named_modules", "named_parameters")
    head = f"for {text.written(loop.target.elts[0])}, parameter in {owner}:"
    indent = text.lines[loop.lineno - 1][: loop.col_offset]
    rows = [
        head,
        f"{indent}    if {join_lines(text.written(node))}:",
        f"{indent}        parameter.requires_grad = False",
    ]
    yield Fix("fits", f"`{head}`", (write_after(text, loop, "\n".join(rows)),))
