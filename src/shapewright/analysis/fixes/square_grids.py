"""Grids of tokens with another side than a pattern of einops says: `h=7, w=7` for
`h=14, w=14` in all patterns that are written for the same grid.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isqrt

from shapewright.analysis.einops_errors import (
    CALLS,
    LAYERS,
    EinopsCall,
    find_call,
    find_mismatch,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name, get_last_name


def suggest_square_grid(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest the side of a square grid for both letters of a group that is written as
    one of another side, wherever a pattern has it.
    """
    call = find_call(program, finding)
    wrong = find_mismatch(call) if call is not None else None
    if call is None or wrong is None or len(wrong.letters) != 2:
        return
    sides = {call.sizes.get(letter) for letter in wrong.letters}
    side = isqrt(wrong.size)
    if len(sides) != 1 or None in sides or side**2 != wrong.size or side < 2:
        return
    numbers: dict[object, tuple[SourceText, ast.expr]] = {}
    calls = 0
    for node in _iter_calls_of_grid(call, wrong.letters, sides):
        places = [_find_number(call.text, node, letter) for letter in wrong.letters]
        if any(place is None for place in places):
            return
        calls += 1
        for place in places:
            assert place is not None
            numbers[call.text.span(place)] = call.text, place
    if numbers:
        edits = tuple(
            Edit(text.span(number), f"{side}") for text, number in numbers.values()
        )
        shown = ", ".join(f"{letter}={side}" for letter in wrong.letters)
        where = "" if calls < 2 else " in both patterns"
        where = where if calls < 3 else f" in all {calls} patterns"
        yield Fix("fits", f"`{shown}`{where}", edits)


def _iter_calls_of_grid(
    call: EinopsCall, letters: tuple[str, ...], sides: set[int | None]
) -> Iterator[ast.Call]:
    """Yield the call that failed, and those of its class or function that give the same
    letters the same sizes.
    """
    text = call.text
    scope = text.around(call.node, ast.ClassDef) or text.tree
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Call):
            continue
        if get_called_name(node) not in CALLS | LAYERS:
            continue
        numbers = [_find_number(text, node, letter) for letter in letters]
        sizes = {
            evaluate_whole_number(number) for number in numbers if number is not None
        }
        if node is call.node or (None not in numbers and sizes == sides):
            yield node


def _find_number(text: SourceText, call: ast.Call, letter: str) -> ast.expr | None:
    """Return the number that a letter is given, or that the name is set to."""
    for word in call.keywords:
        if word.arg != letter:
            continue
        if evaluate_whole_number(word.value) is not None:
            return word.value
        name = get_last_name(word.value)
        values = find_defining(text, name) if name else []
        is_single = len(values) == 1 and evaluate_whole_number(values[0]) is not None
        return values[0] if is_single else None
    return None
