"""Edits of writes to a copy of some elements: `x[mask][other] = y`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.copied_parts import find_written_part
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.record.ops import Fact, Op

COPIED = "is a copy of elements of"
"""What the message of such a write says."""
DRAWS = operators_with("is_random")
"""What has no method that returns a new tensor."""
FILLING = {"zero_": "0", "zeros_": "0", "ones_": "1"}
"""Methods that write one number, and the number."""


def suggest_written_source(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest one index in place of two, or to write back what was changed."""
    write = next(
        (
            op
            for op in program.trace.ops
            if op.span == finding.span and op.kind == "inplace"
        ),
        None,
    )
    if COPIED not in finding.message or write is None:
        return
    place = find_written_part(program, write)
    if place is None or not isinstance(place[1], ast.Subscript):
        return
    if not isinstance(node, ast.expr | ast.stmt):
        return
    part, statement = place[1], text.statement_of(node)
    if isinstance(statement, ast.Expr):
        new = _write_method(text, statement.value, part)
    else:
        new = _write_index(program, text, statement, part, write)
    whole = new or _write_back(text, statement, part)
    shown = join_lines(new) if new else f"{text.written(part)} = part"
    if whole:
        yield Fix("fits", f"`{shown}`", (Edit(text.span(statement), whole),))


def _write_method(text: SourceText, call: ast.expr, part: ast.Subscript) -> str:
    """Return `x[i] = x[i].mul(2)` for `x[i].mul_(2)`, `x[i] = 0` for `x[i].zero_()`."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    name, place = call.func.attr, text.written(part)
    is_method = get_receiver(call) is part
    values = call.args if is_method else call.args[1:]
    if call.keywords or not (is_method or call.args[:1] == [part]):
        return ""
    if name in FILLING:
        return f"{place} = {FILLING[name]}"
    if name in ("fill_", "constant_", "copy_") and len(values) == 1:
        return f"{place} = {text.written(values[0])}"
    if not is_method or not name.endswith("_") or name in DRAWS:
        return ""
    arguments = ", ".join(map(text.written, values))
    return f"{place} = {place}.{name[:-1]}({arguments})"


def _write_index(
    program: Program,
    text: SourceText,
    statement: ast.stmt,
    part: ast.Subscript,
    write: Op,
) -> str:
    """Return a statement with one index, `x[mask, 1] = y` or `x[rows[other]] = y`; for
    a mask within a mask `x[mask] = x[mask].masked_fill(other, 0)`.
    """
    target = text.parent(part)
    if not isinstance(target, ast.Subscript):
        return ""
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return ""
    chosen = program.producers.get(write.inputs[0].tensor)
    if chosen is None or len(chosen.inputs) > len(("tensor", "index")):
        return ""
    index = chosen.inputs[1] if len(chosen.inputs) > 1 else None
    owner, first = text.written(part.value), text.written(part.slice)
    places = target.slice.elts if isinstance(target.slice, ast.Tuple) else ()
    end = text.written(statement).removeprefix(text.written(target))
    new = ""
    if places and ast.unparse(places[0]) == ":":
        rest = ", ".join(map(text.written, places[1:]))
        is_plain = all(isinstance(p, ast.Slice | ast.Constant) for p in places)
        if not isinstance(part.slice, ast.Tuple) and is_plain:
            new = f"{owner}[{first}, {rest}]{end}"
    elif not places and isinstance(part.slice, ast.Name | ast.Attribute):
        second = text.written(target.slice)
        if index is not None and index.dtype != "bool" and index.ndim == 1:
            new = f"{owner}[{first}[{second}]]{end}"
        elif _is_mask_of_numbers(write) and isinstance(statement, ast.Assign):
            value = text.written(statement.value)
            place = text.written(part)
            new = f"{place} = {place}.masked_fill({second}, {value})"
    return new if text.written(statement) != end else ""


def _is_mask_of_numbers(write: Op) -> bool:
    """Return whether a call writes one number to the elements that a mask chooses."""
    masks: tuple[Fact, ...] = write.inputs[1:]
    return len(masks) == 1 and masks[0].dtype == "bool" and not write.places


def _write_back(text: SourceText, statement: ast.stmt, part: ast.Subscript) -> str:
    """Return the statements that change a part and write it back."""
    if "part" in {n.id for n in text.nodes if isinstance(n, ast.Name)}:
        return ""
    line = text.lines[statement.lineno - 1]
    indent, place = line[: statement.col_offset], text.written(part)
    if indent.strip() or text.written(statement).count(place) != 1:
        return ""
    changed = text.written(statement).replace(place, "part")
    return f"\n{indent}".join((f"part = {place}", changed, f"{place} = part"))
