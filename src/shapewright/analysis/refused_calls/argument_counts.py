"""Calls with an argument too few or too many: a loss without its target, a model that
is given the labels too, or all pictures of a triplet at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.batch_values import find_whole_batch
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    is_starred,
    iter_own_nodes,
)

TOO_FEW = re.compile(
    r"(\w+)\.forward\(\) missing 1 required positional argument: '(\w+)'"
)
TOO_MANY = re.compile(
    r"(\w+)\.forward\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given"
)

TRANSPOSE = re.compile(r"transpose\(\) takes 2 positional arguments but \d+ were given")
NUMBERS = re.compile(r"\btensor\(\) takes 1 positional argument but \d+ were given")
OF_ATTENTION = "MultiheadAttention.forward() missing 2 required positional arguments"
OF_STATES = "LSTM.forward() takes from 2 to 3 positional arguments but 4 were given"


def find_missing_argument(program: Program, finding: Finding) -> Explanation | None:
    """Return which argument a call of a module lacks, or has too many, or None."""
    place = program.call_at(finding.span)
    if place is None or is_starred(place[1]):
        return None
    few, many = TOO_FEW.search(finding.words), TOO_MANY.search(finding.words)
    if few is not None:
        whole = find_whole_batch(program, finding)
        return whole or _explain_missing(*place, few[1], few[2])
    if OF_ATTENTION in finding.words and len(place[1].args) == 1:
        return _explain_self_attention(*place)
    if OF_STATES in finding.words:
        return _explain_states(*place)
    if TRANSPOSE.search(finding.words) is not None:
        return _explain_transpose(*place)
    if NUMBERS.search(finding.words) is not None:
        return _explain_numbers(*place)
    if many is not None:
        return _explain_more(*place, int(many[2]), int(many[3]))
    return None


def _explain_numbers(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `torch.tensor(0.25, 1.5)`, with a list in each such call of the file."""
    written = text.written(call.func)
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call)
        and text.written(node.func) == written
        and len(node.args) > 1
    ]
    edits, shown = [], ""
    for node in calls:
        start, end = text.span(node.args[0]), text.span(node.args[-1])
        edits += [Edit(start.start, "["), Edit(end.end, "]")]
        if node is call:
            items = ", ".join(text.written(part) for part in node.args)
            shown = f"{written}([{items}])"
    message = f"`{written}` takes the data as one argument: a list of the numbers"
    return Explanation(message, (), (Fix("fits", f"`{shown}`", tuple(edits)),))


def _explain_missing(
    text: SourceText, call: ast.Call, kind: str, parameter: str
) -> Explanation | None:
    """Explain a call that lacks one argument, by the names that nothing reads."""
    written = text.line_of(call)
    message = f"`{written}` lacks `{parameter}`, which `{kind}.forward` takes"
    names = list(_iter_unread_names(text, call, parameter))
    values = call.args
    if call.keywords:
        return Explanation(message)
    words = [text.line_of(part) for part in values]
    fixes = []
    for name in names:
        at = text.span(values[-1]).end if values else None
        new = f"{text.line_of(call.func)}({', '.join([*words, name])})"
        edit = Edit(at, f", {name}") if at is not None else Edit(text.span(call), new)
        fixes.append(Fix("fits", f"`{new}`", (edit,)))
    return Explanation(message, (), tuple(fixes))


def _iter_unread_names(
    text: SourceText, call: ast.Call, parameter: str
) -> Iterator[str]:
    """Yield the values of a batch that nothing reads, then what is named like the
    parameter.
    """
    scope = text.around(call, *FUNCTIONS) or text.tree
    read = {
        node.id
        for node in iter_own_nodes(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    stored: list[str] = []
    for outer in text.outwards(call):
        if isinstance(outer, ast.For):
            stored += [n.id for n in ast.walk(outer.target) if isinstance(n, ast.Name)]
            stored += [
                name.id
                for statement in outer.body
                if isinstance(statement, ast.Assign)
                and statement.lineno < call.lineno
                and isinstance(statement.targets[0], ast.Tuple)
                for name in ast.walk(statement.targets[0])
                if isinstance(name, ast.Name)
            ]
    own = isinstance(scope, ast.FunctionDef)
    if isinstance(scope, ast.FunctionDef) and own:
        stored += [argument.arg for argument in scope.args.args[1:]]
    unread = [
        name for name in dict.fromkeys(stored) if name not in read and name != "_"
    ]
    yield from unread
    if parameter in stored and parameter not in unread:
        yield parameter


def _explain_more(
    text: SourceText, call: ast.Call, takes: int, count: int
) -> Explanation | None:
    """Explain a call with more arguments than `forward` takes."""
    left = len(call.args) - (count - takes)
    if left < 1 or call.keywords:
        return None
    parts = [text.line_of(part) for part in call.args]
    more = " and ".join(f"`{part}`" for part in parts[left:])
    wanted = "one value" if takes == 2 else f"{takes - 1} values"
    message = f"`{text.line_of(call.func)}` takes {wanted}, and is given {more} too"
    if left == 1 and _is_unpacked_as(text, call, len(parts)):
        new = ", ".join(f"{text.line_of(call.func)}({part})" for part in parts)
        fix = Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
        return Explanation(message, (), (fix,))
    span = text.span(call.args[left - 1]).end.until(text.span(call.args[-1]))
    new = f"{text.line_of(call.func)}({', '.join(parts[:left])})"
    fix = Fix("fits", f"`{new}`", (Edit(span, ""),))
    return Explanation(message, (), (fix,))


def _is_unpacked_as(text: SourceText, call: ast.Call, count: int) -> bool:
    """Return whether the result of a call is all that so many names are set to: the
    call is meant for each of its arguments.
    """
    holder = text.parent(call)
    if not isinstance(holder, ast.Assign) or holder.value is not call:
        return False
    target = holder.targets[0]
    is_tuple = isinstance(target, ast.Tuple | ast.List) and len(holder.targets) == 1
    return is_tuple and len(getattr(target, "elts", ())) == count


def _explain_self_attention(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `attention(x)`, which takes queries, keys and values."""
    value = text.line_of(call.args[0])
    name = text.line_of(call.func)
    message = (
        f"`{name}` takes queries, keys and values, and is given `{value}` alone: what"
        " attends to itself is given three times"
    )
    edit = Edit(text.span(call.args[0]).end, f", {value}, {value}")
    fix = Fix("fits", f"`{name}({value}, {value}, {value})`", (edit,))
    return Explanation(message, (), (fix,))


def _explain_states(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `lstm(x, h0, c0)`: the two states are given as a pair."""
    if len(call.args) != 3 or call.keywords:
        return None
    first, second = call.args[1:]
    pair = f"({text.line_of(first)}, {text.line_of(second)})"
    message = (
        f"`{text.line_of(call.func)}` takes its two states as one pair, and is given"
        f" `{text.line_of(first)}` and `{text.line_of(second)}`"
    )
    edits = [Edit(text.span(first).until(text.span(second)), pair)]
    holder = text.parent(call)
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    shown = f"{text.line_of(call.func)}({text.line_of(call.args[0])}, {pair})"
    if isinstance(target, ast.Tuple) and len(target.elts) == 3:
        names = [text.written(part) for part in target.elts]
        new = f"{names[0]}, ({names[1]}, {names[2]})"
        edits.insert(0, Edit(text.span(target), new))
        shown = f"{new} = {shown}"
    return Explanation(message, (), (Fix("fits", f"`{shown}`", tuple(edits)),))


def _explain_transpose(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `x.transpose(0, 2, 1)`, which exchanges two dims only."""
    if not isinstance(call.func, ast.Attribute):
        return None
    written = text.line_of(call)
    message = f"`{written}` names {len(call.args)} dims: `transpose` exchanges two"
    end = text.span(call.func)
    start = replace(end.end, column=end.end_column - len("transpose"))
    new = written.replace(".transpose(", ".permute(")
    fix = Fix("fits", f"`{new}`", (Edit(start, "permute"),))
    return Explanation(message, (), (fix,))
