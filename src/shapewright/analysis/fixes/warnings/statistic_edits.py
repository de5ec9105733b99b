"""Edits that give test data the statistics of the training."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.unused_statistics import (
    find_missing_option,
    list_values,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText


def suggest_saved_statistics(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the file with the statistics of the training as the default of the option
    that reads them.
    """
    saved = program.node(finding.related[0].span) if finding.related else None
    if "is given no statistics" not in finding.message or saved is None:
        return
    rehearsal = program.rehearsal
    options = rehearsal.arguments if rehearsal is not None else ()
    block = saved[0].around(saved[1], ast.With) or saved[1]
    files = [
        part.value.lstrip("/")
        for part in ast.walk(block)
        if isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and "." in part.value.strip(".")
    ]
    for word in node.keywords if isinstance(node, ast.Call) and files else ():
        for value in list_values(text, word.value):
            option = find_missing_option(text, value, options)
            if option is None:
                continue
            new = f'default="{files[0]}"'
            words = {part.arg: part.value for part in option.keywords}
            if "default" in words:
                edit = Edit(text.span(words["default"]), f'"{files[0]}"')
                yield Fix("fits", f"`{new}`", (edit,))
            else:
                yield with_keyword(text, option, new)
            return
