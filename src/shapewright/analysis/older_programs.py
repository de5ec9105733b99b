"""What older versions of torch took and this one refuses, methods that are given in
place of what they return, and spectra without `return_complex`.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    list_arguments,
)

UNEXPECTED = re.compile(
    r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'"
)
METHOD = "'method' object is not iterable"
REMOVED = {"verbose": "the schedulers of torch print nothing any more"}
"""Arguments that torch had, each with why it is gone."""


def find_removed_argument(program: Program, finding: Finding) -> Explanation | None:
    """Explain an argument of a scheduler that torch has removed."""
    refused = UNEXPECTED.search(finding.words)
    place = program.node(finding.span)
    if refused is None or place is None or refused[2] not in REMOVED:
        return None
    text, node = place
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or get_called_name(call) != refused[1]:
            continue
        words = [word for word in call.keywords if word.arg == refused[2]]
        if words and text.definitions(refused[1]) == []:
            written = join_lines(f"{words[0].arg}={text.written(words[0].value)}")
            message = f"`{refused[1]}` has no argument `{refused[2]}` in this torch:"
            message += f" {REMOVED[refused[2]]}"
            edit = cut_argument(text, call, words[0])
            fix = Fix("fits", f"without `{written}`", (edit,))
            return Explanation(message, (), (fix,))
    return None


def cut_argument(text: SourceText, call: ast.Call, word: ast.keyword) -> Edit:
    """Return the edit that leaves out an argument, with the comma beside it."""
    end = text.span(word.value)
    begin = text.column(word.lineno, word.col_offset)
    others = list_arguments(call)
    before = [
        part for part in others if _get_place(part) < (word.lineno, word.col_offset)
    ]
    if before:
        last = text.span(max(before, key=_get_place))
        return Edit(last.end.until(end), "")
    span = Span(text.file, word.lineno, begin, end.end_line, end.end_column)
    rest = text.lines[end.end_line - 1][end.end_column - 1 :]
    if rest.startswith(", "):
        span = Span(text.file, word.lineno, begin, end.end_line, end.end_column + 2)
    return Edit(span, "")


def _get_place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def find_uncalled_method(program: Program, finding: Finding) -> Explanation | None:
    """Explain `SGD(model.parameters)`: the method is given, not what it returns."""
    place = program.node(finding.span)
    if METHOD not in finding.words or place is None:
        return None
    text, node = place
    for call in ast.walk(node):
        arguments = call.args if isinstance(call, ast.Call) else []
        for argument in arguments:
            if isinstance(argument, ast.Attribute) and argument.attr in METHODS:
                written = text.written(argument)
                message = f"`{written}` is a method, and it is not called"
                where = Related(text.span(argument), "the method itself is passed here")
                edit = Edit(text.span(argument).end, "()")
                fix = Fix("fits", f"`{written}()`", (edit,))
                return Explanation(message, (where,), (fix,))
    return None


METHODS = frozenset(
    {"parameters", "named_parameters", "children", "modules", "items", "values", "keys"}
)
"""Methods whose result is iterated over."""


# -- spectra, which are complex --------------------------------------------------------

REAL_SPECTRUM = "stft requires the return_complex parameter"
PARTS = (
    r"\[(?:\.\.\.|:, *:, *:|:, *:), *[01]\]|\.unbind\((?:dim=)?-1\)|"
    r"\.(?:pow\(2\)|square\(\))\.sum\((?:dim=)?-1|"
    r"\.norm\((?:2, *)?(?:p=2, *)?(?:dim=)?-1"
)
"""How older programs read the real and the imaginary part from the last dim."""
COMPLEX = "return_complex=True"


def explain_real_spectrum(
    text: SourceText, node: ast.AST, messages: str
) -> Explanation | None:
    """Explain an `stft` that does not say whether its result is complex."""
    if REAL_SPECTRUM not in messages or not isinstance(node, ast.Call):
        return None
    name = text.written(node.func)
    message = f"`{name}` of a real signal needs `{COMPLEX}`"
    plain = with_keyword(text, node, COMPLEX)
    plain = Fix("fits", f"`{COMPLEX}`", plain.edits)
    around = (
        Edit(text.span(node).start, "torch.view_as_real("),
        *plain.edits,
        Edit(text.span(node).end, ")"),
    )
    parts = Fix("fits", f"`torch.view_as_real` of the call with `{COMPLEX}`", around)
    if _is_read_in_parts(text, node):
        message += (
            ": its real and imaginary parts are read from the last dim, as it was"
        )
        return Explanation(message, (), (parts,))
    return Explanation(message, (), (plain, parts))


def _is_read_in_parts(text: SourceText, call: ast.Call) -> bool:
    """Return whether a program reads the two parts of a spectrum along its last dim:
    of the names that hold it, or anywhere if a function returns it.
    """
    statement = text.statement_of(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [re.escape(text.written(target)) for target in targets]
    is_read = any(re.search(rf"\b{name}(?:{PARTS})", text.text) for name in names)
    return is_read or "view_as_complex(" in text.text
