"""Whole numbers that a transform of floats is given: a tensor of a uint8 array."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

MAKERS = operators_with("takes_program_data") | {"read_image", "decode_image"}
"""Calls that make a tensor of the numbers they are given, or read."""
SCALED = re.compile(r"/=?\s*255|div_?\(\s*255|scale=True|convert_image_dtype")
MOST_NAMES = 6
"""Assignments that are followed from a tensor to the call that made it."""


def find_whole_number(program: Program, finding: Finding) -> Explanation | None:
    """Return which tensor of whole numbers a transform is given, and the conversion
    where it is made.
    """
    place = program.call_at(finding.span)
    if place is None or not place[1].args or isinstance(place[1].args[0], ast.Starred):
        return None
    text, call = place
    value = call.args[0]
    maker = _find_maker(text, value)
    written = join_lines(text.written(value))
    message = (
        f"`{join_lines(text.written(call.func))}` takes floats, and `{written}` is"
        " uint8, whole numbers up to 255 still: nothing before it converts them"
    )
    at = value if maker is None else maker
    related = []
    if maker is not None:
        related.append(Related(text.span(maker), "the tensor is made here, of uint8"))
    is_scaled = any(SCALED.search(own.text) for own in program.own_texts())
    new = ".float()" if is_scaled else ".float() / 255"
    is_plain = is_scaled or isinstance(text.parent(at), ast.Assign | ast.Call)
    if not is_plain:
        new = ".float().div(255)"
    fix = Fix("fits", f"`{join_lines(text.written(at))}{new}`", (
        Edit(text.span(at).end, new),
    ))  # fmt: skip
    if isinstance(at, ast.BinOp | ast.IfExp):
        return Explanation(message, tuple(related))
    return Explanation(message, tuple(related), (fix,))


def _find_maker(text: SourceText, value: ast.expr) -> ast.Call | None:
    """Return the call that made a tensor, through its methods and the names it has in
    its function.
    """
    scope = text.around(value, *FUNCTIONS)
    line = value.lineno
    for _ in range(MOST_NAMES):
        while isinstance(value, ast.Call | ast.Subscript | ast.Attribute):
            if isinstance(value, ast.Call):
                if get_called_name(value) in MAKERS:
                    return value
                value = value.func
            else:
                value = value.value
        if not isinstance(value, ast.Name):
            return None
        sources = [
            source
            for source in find_defining(text, value.id)
            if source.lineno < line and text.around(source, *FUNCTIONS) is scope
        ]
        if not sources:
            return None
        value, line = sources[-1], sources[-1].lineno
    return None
