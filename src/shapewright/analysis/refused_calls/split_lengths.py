"""Lengths for `random_split` that do not add up to the number of samples."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

OF_FLOATS = re.compile(r"randperm\(\) received an invalid combination.*got \(float")
REFUSED = "Sum of input lengths does not equal the length of the input dataset"


def find_split_lengths(program: Program, finding: Finding) -> Explanation | None:
    """Return that the last part of a split is to be the rest, or None."""
    place = program.node(finding.span)
    is_of_floats = OF_FLOATS.search(finding.words) is not None
    if place is None or (REFUSED not in finding.words and not is_of_floats):
        return None
    text, node = place
    calls = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and get_called_name(part) == "random_split"
    ]
    words = {word.arg: word.value for call in calls for word in call.keywords}
    data = calls[0].args[0] if calls and calls[0].args else words.get("dataset")
    lengths = calls[0].args[1] if calls and len(calls[0].args) > 1 else None
    lengths = lengths or words.get("lengths")
    if data is None or lengths is None:
        return None
    listed = find_known_value(text, lengths)
    parts = listed.elts if isinstance(listed, ast.List | ast.Tuple) else []
    if len(parts) < 2 or any(isinstance(part, ast.Starred) for part in parts):
        return None
    if is_of_floats:
        return _explain_floats(text, data, parts)
    return _explain_lengths(text, calls[0], data, parts)


def _explain_floats(
    text: SourceText, data: ast.expr, parts: list[ast.expr]
) -> Explanation | None:
    """Explain lengths that are floats, where shares alone are taken."""
    values = [find_known_value(text, part) for part in parts]
    shares: list[ast.expr] = []
    for value in values:
        sides = (
            (value.left, value.right)
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)
            else ()
        )
        numbers = [
            side
            for side in sides
            if isinstance(side, ast.Constant) and isinstance(side.value, float)
        ]
        shares += numbers[:1]
    if len(shares) != len(parts):
        return None
    message = "lengths are whole numbers, or shares that add up to 1, and these are"
    message += f" floats: `{text.line_of(values[0])}`"
    new = f"[{', '.join(text.written(share) for share in shares)}]"
    edits = tuple(
        Edit(text.span(part), text.written(share))
        for part, share in zip(parts, shares, strict=True)
    )
    return Explanation(message, (), (Fix("fits", f"`{new}`", edits),))


def _explain_lengths(
    text: SourceText, call: ast.Call, data: ast.expr, parts: list[ast.expr]
) -> Explanation:
    """Return the explanation with the rest as the last length."""
    values = [find_known_value(text, part) for part in parts]
    is_share = all(
        isinstance(value, ast.Constant) and isinstance(value.value, float)
        for value in values
    )
    is_cut = any(get_called_name(value) in ("int", "floor") for value in values)
    is_cut |= any(isinstance(value, ast.BinOp) for value in values)
    message = "the lengths of the parts do not add up to that of the data set"
    if is_share:
        message = "the shares of the parts do not add up to 1"
    elif is_cut:
        message += ": each is rounded by itself; the last part takes the rest"
    related = (Related(text.span(values[-1]), "the last length is computed here"),)
    others = [text.written(part) for part in parts[:-1]]
    if is_share:
        whole = 1 - sum(float(str(ast.literal_eval(value))) for value in values[:-1])
        new = f"{round(whole, 6)}"
        if whole <= 0:
            return Explanation(message, related)
    else:
        new = " - ".join([_write_length(text, data, values), *others])
    last, value = parts[-1], values[-1]
    others_set = [v for part, v in zip(parts, values, strict=True) if v is not part]
    line = text.statement_of(value).lineno
    is_below = all(v.lineno < line for v in others_set if v is not value)
    inside = text.around(value, *FUNCTIONS) is text.around(call, *FUNCTIONS)
    if value is not last and not (is_below and inside):
        value = last
    edit = Edit(text.span(value), new)
    shown = join_lines(new if value is last else f"{text.written(last)} = {new}")
    return Explanation(message, related, (Fix("fits", f"`{shown}`", (edit,)),))


def _write_length(text: SourceText, data: ast.expr, values: list[ast.expr]) -> str:
    """Return the length of the data set as the program writes it: `n` where the other
    lengths are shares of `n = len(data)`.
    """
    length = f"len({text.written(data)})"
    for value in values:
        for part in ast.walk(value):
            if isinstance(part, ast.Name):
                known = find_known_value(text, part)
                if known is not part and text.written(known) == length:
                    return part.id
    return length
