"""Schedules of fewer steps than a training takes: `OneCycleLR` of one step an epoch,
stepped after every batch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_iterated,
    get_last_name,
    is_starred,
)

TOO_LONG = re.compile(r"Tried to step (\d+) times. The specified number .* is (\d+)")
NAMED = re.compile(r"load|_dl$|^dl|batches")


def find_short_schedule(program: Program, finding: Finding) -> Explanation | None:
    """Return which loop steps a schedule more often than it has steps, or None."""
    match, place = TOO_LONG.search(finding.words), program.node(finding.span)
    if match is None or place is None:
        return None
    text, node = place
    loops = [loop for loop in text.outwards(node) if isinstance(loop, ast.For)]
    built = [
        (own, call)
        for own in program.own_texts()
        for call in own.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == "OneCycleLR"
    ]
    if not loops or len(built) != 1:
        return None
    data, epochs = get_iterated(loops[0].iter), _find_epochs(loops[1:])
    written = text.line_of(data)
    if get_called_name(data) == "range" or not isinstance(
        data, ast.Name | ast.Attribute
    ):
        return None
    where, call = built[0]
    message = (
        f"`OneCycleLR` has {match[2]} steps and is stepped once more: it is stepped"
        f" after every batch of `{written}`"
    )
    related = (Related(where.span(call), "it is built here"),)
    names = list(_iter_names(where, call, data))
    fixes = tuple(_iter_fixes(where, call, names, text, epochs))
    return Explanation(message, related, fixes)


def _find_epochs(loops: list[ast.For]) -> ast.expr | None:
    """Return the number of turns of the loop around the one over batches."""
    for loop in loops:
        turns = get_iterated(loop.iter)
        if isinstance(turns, ast.Call) and get_called_name(turns) in (
            "range",
            "trange",
        ):
            return turns.args[0] if len(turns.args) == 1 else None
    return None


def _iter_names(text: SourceText, call: ast.Call, data: ast.expr) -> Iterator[str]:
    """Yield the names that the batches of a loop have where a schedule is built."""
    name = get_last_name(data)
    scope = text.around(call, ast.FunctionDef)
    parameters = [part.arg for part in scope.args.args] if scope is not None else []
    if isinstance(data, ast.Attribute):
        if parameters[:1] == ["self"] or text.line_of(data).partition(".")[0] != "self":
            yield text.line_of(data)
    elif name in parameters or _is_set_in(text, scope, name):
        yield name
    for parameter in parameters:
        handed = {get_last_name(value) for value in find_defining(text, parameter)}
        if parameter != name and (name in handed or NAMED.search(parameter)):
            yield parameter
    sources = {get_last_name(value) for value in find_defining(text, name)}
    for source in sorted(sources - {"", name}):  # `fit(model, train_loader)`
        if _is_set_in(text, scope, source) or source in parameters:
            yield source


def _is_set_in(text: SourceText, scope: ast.AST | None, name: str) -> bool:
    """Return whether a name is assigned in a function, or in the module."""
    return any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id == name
        and text.around(node, *FUNCTIONS) in (scope, None)
        for node in text.nodes
    )


def _iter_fixes(
    text: SourceText,
    call: ast.Call,
    names: list[str],
    looping: SourceText,
    epochs: ast.expr | None,
) -> Iterator[Fix]:
    """Yield the numbers of steps that the loop makes, for those of the schedule."""
    values = {word.arg: word.value for word in call.keywords}
    if is_starred(call):
        return
    if len(call.args) > 2:
        values["total_steps"] = call.args[2]
    for name in names:
        for word, new in (
            ("steps_per_epoch", f"len({name})"),
            ("total_steps", f"{_write_turns(looping, epochs)} * len({name})"),
        ):
            value = values.get(word)
            if value is None or new.startswith(" ") or text.line_of(value) == new:
                continue
            yield Fix("fits", f"`{word}={new}`", (Edit(text.span(value), new),))
    value, turns = values.get("epochs"), _write_turns(looping, epochs)
    if value is not None and turns and text.line_of(value) != turns:
        yield Fix("fits", f"`epochs={turns}`", (Edit(text.span(value), turns),))


def _write_turns(text: SourceText, epochs: ast.expr | None) -> str:
    """Return the number of epochs as the loop has it, in brackets where it is a sum."""
    if epochs is None:
        return ""
    written = text.line_of(epochs)
    return f"({written})" if isinstance(epochs, ast.BinOp) else written
