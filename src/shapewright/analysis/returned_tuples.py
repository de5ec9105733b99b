"""A whole tuple where one of its values is meant: `state = env.reset()`, which returns
an observation and a dict.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

REFUSED = re.compile(
    r"inhomogeneous|setting an array element with a sequence|must be real number, not|"
    r"not dict|expected sequence of length|can't convert np.ndarray of type|"
    r"could not determine the shape of object|too many dimensions 'dict'|"
    r"float\(\) argument must be|'tuple' object|got tuple|not tuple"
)
RETURNS_PAIR = {"reset": "(observation, info)"}
"""Methods of environments, since gymnasium and gym 0.26."""


def find_returned_tuple(program: Program, finding: Finding) -> Explanation | None:
    """Return which call returned the tuple that was taken for a state, or None."""
    if not REFUSED.search(finding.words):
        return None
    for text in program.own_texts():
        for statement, call in _iter_whole_pairs(text):
            written = text.written(statement.targets[0])
            name = text.written(call.func)
            what = RETURNS_PAIR[get_called_name(call)]
            message = f"`{name}()` returns a tuple {what}, and `{written}` is all of it"
            span = text.span(statement)
            related = (Related(span, f"`{written}` is set here"),)
            edit = Edit(text.span(statement.targets[0]), f"{written}, _")
            rest = text.written(call)
            fix = Fix("fits", f"`{written}, _ = {rest}`", (edit,))
            return Explanation(message, related, (fix,))
    return None


def _is_pair_returned(text: SourceText, name: str) -> bool:
    """Return whether the program's own method returns two values, or gymnasium's."""
    own = text.functions(name)
    if not own:
        return "gym" in text.text
    return any(
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) == 2
        for _, function in own
        for node in ast.walk(function)
    )


def _iter_whole_pairs(text: SourceText) -> Iterator[tuple[ast.Assign, ast.Call]]:
    """Yield the statements that give one name to what such a call returns."""
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        is_method = isinstance(node.value.func, ast.Attribute)
        if not _is_pair_returned(text, get_called_name(node.value)):
            continue
        one_name = isinstance(node.targets[0], ast.Name | ast.Attribute)
        if is_method and one_name and get_called_name(node.value) in RETURNS_PAIR:
            yield node, node.value
