"""Edits of an attribute that may be None: `self.weight[:, None]` breaks the default
`weight=None`, and the same where the weight is given does not.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from shapewright.analysis.fixes.options import STEP, FixOption
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_own_attribute


def sort_edits_of_optional(
    program: Program, options: list[FixOption]
) -> list[FixOption]:
    """Return the fixes with those behind the others that read an attribute which may be
    None where another one adds the same to what is given for it.
    """
    late = [option for option in options if _is_of_optional(program, option.fix)]
    for option in late:
        same = [
            other
            for other in options
            if other not in late and _get_added(other.fix) == _get_added(option.fix)
        ]
        if same:
            options.remove(option)
            last = same[-1]
            moved = replace(option, cost=last.cost + STEP / 2)
            options.insert(options.index(last) + 1, moved)
    return options


def _get_added(fix: Fix) -> str:
    """Return the only text that a fix adds."""
    return fix.edits[0].text if len(fix.edits) == 1 else ""


def _is_of_optional(program: Program, fix: Fix) -> bool:
    """Return whether a fix adds an index or a method to an attribute that is None by
    default, where nothing asks whether it is.
    """
    if not _get_added(fix).startswith(("[", ".")):
        return False
    span = fix.edits[0].span
    text = program.text(span.file)
    for node in text.nodes if text is not None else ():
        name = get_own_attribute(node) if isinstance(node, ast.Attribute) else ""
        if not name or text is None or not isinstance(node, ast.Attribute):
            continue
        end = text.span(node).end
        if (end.line, end.column) == (span.line, span.column):
            return _is_none_by_default(text, node, name)
    return False


def _is_none_by_default(text: SourceText, node: ast.Attribute, name: str) -> bool:
    """Return whether the class around an attribute takes None for it, and the attribute
    is not read behind a question for it.
    """
    for around in text.outwards(node):
        test = around.test if isinstance(around, ast.If | ast.IfExp) else None
        if test is not None and f"self.{name}" in text.written(test):
            return False
    owner = text.around(node, ast.ClassDef)
    for function in owner.body if owner is not None else ():
        if not isinstance(function, FUNCTIONS) or function.name != "__init__":
            continue
        named = [*function.args.posonlyargs, *function.args.args]
        defaults = function.args.defaults
        pairs = list(zip(named[len(named) - len(defaults) :], defaults, strict=True))
        pairs += [
            (word, value)
            for word, value in zip(
                function.args.kwonlyargs, function.args.kw_defaults, strict=True
            )
            if value is not None
        ]
        return any(
            word.arg == name and isinstance(value, ast.Constant) and value.value is None
            for word, value in pairs
        )
    return False
