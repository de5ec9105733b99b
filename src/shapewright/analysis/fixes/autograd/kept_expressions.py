"""Edits for a constructor that keeps what it computes of a parameter:
`self.noise = nn.Parameter(x).exp()`. The parameter is kept, and the rest is computed
where it is read.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.names import find_kept_attribute
from shapewright.analysis.fixes.autograd.early_graphs import (
    collect_parameters,
    collect_stepped,
    get_edge,
)
from shapewright.analysis.fixes.operands import TIGHT
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
    get_own_attribute,
    iter_assignments,
    list_parameters,
)

COMPUTED = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute)
"""What is computed of a parameter at a read as it is in the constructor."""


@dataclass(frozen=True, slots=True)
class _KeptExpression:
    """`self.noise = nn.Parameter(x).exp()` of a constructor: the statement, the name of
    the attribute, and the parameter in the value, `nn.Parameter(x)`; nothing where the
    value is computed of what the module has registered.
    """

    text: SourceText
    statement: ast.Assign
    name: str
    parameter: ast.expr | None


def find_kept_expression(history: History, cause: Cause) -> _KeptExpression | None:
    """Return the statement of a constructor that keeps what it computes of a parameter,
    made in the same constructor, or of those that the loop trains.
    """
    edge, first = get_edge(cause), cause.other
    if edge is None or first is None or not edge.fact.requires_grad:
        return None
    kept = find_kept_attribute(history, edge.maker, cause.failing)
    if kept is None:
        return None
    text, statement, name = kept
    if not isinstance(statement, ast.Assign):
        return None
    if len(statement.targets) != 1 or not isinstance(statement.value, COMPUTED):
        return None
    parameters = _list_parameters(text, statement)
    if parameters:
        parameter = parameters[0] if len(parameters) == 1 else None
        return _KeptExpression(text, statement, name, parameter)
    stepped = collect_stepped(history, first, cause.failing)
    is_trained = bool(stepped & collect_parameters(history, edge))
    has_own = any(get_own_attribute(node) for node in ast.walk(statement.value))
    if not is_trained or not has_own:
        return None
    return _KeptExpression(text, statement, name, None)


def _list_parameters(text: SourceText, statement: ast.Assign) -> list[ast.expr]:
    """Return the parameters that an expression makes, and the names that its
    constructor gives to others.
    """
    function = text.around(statement, ast.FunctionDef)
    names = {
        get_dotted_name(target)
        for target, value in iter_assignments(function)
        if value is not None and get_called_name(value) == "Parameter"
    }
    return [
        node
        for node in ast.walk(statement.value)
        if isinstance(node, ast.expr)
        and (
            get_called_name(node) == "Parameter"
            or (isinstance(node, ast.Name) and node.id in names)
        )
        and node is not statement.value
    ]


def suggest_use_of_parameter(kept: _KeptExpression) -> Iterator[Fix]:
    """Suggest `self.noise.exp()` at each read of `self.noise = nn.Parameter(x)`."""
    text, statement = kept.text, kept.statement
    written = text.written(statement.value)
    reads = _list_reads(kept)
    if "\n" in written or not reads or not _is_readable(kept):
        return
    if kept.parameter is None and _list_parameters(text, statement):
        return  # each read would make others
    if kept.parameter is not None:
        parameter = text.written(kept.parameter)
        edits = [Edit(text.span(statement.value), parameter)]
        shown = f"and `{join_lines(f'{kept.name} = {parameter}')}`"
    else:
        parameter, edits = "", [cut_lines(text, statement)]
        shown = f"without `{join_lines(text.written(statement))}`"
    new = ""
    for read in reads:
        owner = text.written(read.value)
        new = _write_for(kept, parameter, owner)
        edits.append(Edit(text.span(read), new))
    new = _write_for(kept, parameter, "self")
    words = f"`{new}` where `{kept.name}` is read, {shown}"
    yield Fix("fits", words, tuple(edits))


def _write_for(kept: _KeptExpression, parameter: str, owner: str) -> str:
    """Return the value of a kept expression as it is computed of an object's own
    parameter: `model.noise.exp()`.
    """
    text, value = kept.text, kept.statement.value
    written, begin = text.written(value), text.span(value).start.column
    if kept.parameter is not None:
        at = text.span(kept.parameter).start.column - begin
        own = owner + kept.name.removeprefix("self")
        written = written[:at] + own + written[at + len(parameter) :]
    elif owner != "self":
        places = [
            text.span(node).start.column - begin
            for node in ast.walk(value)
            if isinstance(node, ast.Name) and node.id == "self"
        ]
        for at in sorted(places, reverse=True):
            written = written[:at] + owner + written[at + len("self") :]
    return written if isinstance(value, TIGHT) else f"({written})"


def _is_readable(kept: _KeptExpression) -> bool:
    """Return whether other methods know what a kept expression reads beside its
    parameter: attributes, and names of the whole file.
    """
    text, value = kept.text, kept.statement.value
    inner = set(ast.walk(kept.parameter)) if kept.parameter is not None else set()
    names = {
        node.id
        for node in ast.walk(value)
        if isinstance(node, ast.Name) and node not in inner
    }
    function = text.around(value, ast.FunctionDef)
    local = collect_names(function, ast.Store) if function is not None else set()
    local |= set(list_parameters(function))
    known = _list_known(text) | set(dir(builtins))
    return names - {"self"} <= known - local


def _list_known(text: SourceText) -> set[str]:
    """Return the names that the statements of a file give: imports, definitions, and
    what is set.
    """
    names: set[str] = set()
    for node in text.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            parts = [alias.asname or alias.name for alias in node.names]
            names |= {part.partition(".")[0] for part in parts}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _list_reads(kept: _KeptExpression) -> list[ast.Attribute]:
    """Return where the attribute is read: by its class, and of objects of that class
    that a name of the file holds. Nothing if another statement sets it, too.
    """
    text, attribute = kept.text, kept.name.removeprefix("self.")
    owner = text.around(kept.statement, ast.ClassDef)
    if owner is None or "." in attribute:
        return []
    objects = {
        get_dotted_name(target)
        for target, value in iter_assignments(text.tree)
        if value is not None and get_called_name(value) == owner.name
    } - {""}
    reads: list[ast.Attribute] = []
    for node in text.nodes:
        if not isinstance(node, ast.Attribute) or node.attr != attribute:
            continue
        is_own = get_dotted_name(node.value) == "self"
        is_own = is_own and text.around(node, ast.ClassDef) is owner
        if not is_own and get_dotted_name(node.value) not in objects:
            continue
        if node is kept.statement.targets[0]:
            continue
        if not isinstance(node.ctx, ast.Load):
            return []
        reads.append(node)
    return reads
