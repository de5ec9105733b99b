"""Another name in the place of one: of a tensor in scope, or of a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.created_tensors import iter_wanted_shapes
from shapewright.analysis.fixes.numbers_and_names import MOST
from shapewright.analysis.fixes.suspect_lines import (
    Line,
    iter_named_facts,
    iter_nodes_on,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import HIDDEN_STATE_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_own_attribute,
    iter_assignments,
)


def replace_tensors(program: Program, failure: Failure) -> Iterator[Fix]:
    """Replace a mismatched tensor by another tensor in scope."""
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return
    if failure.unmet is not None and failure.unmet.code == HIDDEN_STATE_SHAPE:
        return  # a state is what a recurrent layer returned, whatever has its shape
    text = text_and_node[0]
    wanted: dict[int, list[tuple[int, ...]]] = {}
    for at, shape in iter_wanted_shapes(program, failure):
        wanted.setdefault(at, []).append(shape)
    for at, place in enumerate(find_tensor_expressions(program, op)):
        if place is None or not isinstance(place[0], ast.Name) or at not in wanted:
            continue
        node, fact = place[0], op.inputs[at]
        others = iter_named_facts(program, op, text, node)
        kind = fact.dtype.rstrip("0123456789")
        same = [
            name
            for name, other in others.items()
            if name != node.id and other.dtype.rstrip("0123456789") == kind
        ]
        there = collect_names(text.statement_of(node) or text_and_node[1])
        exact = [
            name
            for name in same
            if others[name].shape in wanted[at] and name not in there
        ]
        for name in exact[:MOST]:
            if _is_left_unread(text, node, name):
                continue
            yield Fix(
                "fits", f"`{name}` for `{node.id}`", (Edit(text.span(node), name),)
            )


def _is_left_unread(text: SourceText, node: ast.Name, name: str) -> bool:
    """Return whether what a function works out for one place would be read nowhere, if
    another name that it reads anyway stood there.
    """
    function = text.around(node, ast.FunctionDef)
    if function is None:
        return False
    names = [inner for inner in ast.walk(function) if isinstance(inner, ast.Name)]
    reads = [inner for inner in names if isinstance(inner.ctx, ast.Load)]
    stores = sorted(
        inner.lineno
        for inner in names
        if isinstance(inner.ctx, ast.Store) and inner.id == node.id
    )
    before = [line for line in stores if line < node.lineno]
    if not before or not any(read.id == name for read in reads):
        return False
    after = next((line for line in stores if line >= node.lineno), function.end_lineno)
    return not any(
        read is not node and read.id == node.id
        and before[-1] < read.lineno <= (after or read.lineno)
        for read in reads
    )  # fmt: skip


def suggest_attributes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.width` for a name of the same size that hides it: the method has
    given `width` another value.
    """
    op = program.trace.ops[failure.op]
    place = program.node(op.span)
    owner = place[0].around(place[1], ast.ClassDef) if place is not None else None
    function = place[0].around(place[1], ast.FunctionDef) if place is not None else None
    if place is None or owner is None or function is None:
        return
    text, node = place
    own = {get_own_attribute(target) for target, _ in iter_assignments(owner)}
    local = {
        inner.id
        for inner in ast.walk(function)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }
    for inner in ast.walk(node):
        name = inner.id if isinstance(inner, ast.Name) else ""
        if name in local and name in own and isinstance(inner, ast.Name):
            edit = Edit(text.span(inner), f"self.{name}")
            yield Fix("fits", f"`self.{name}` for `{name}`", (edit,))


def replace_names(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Replace a name among the arguments of a call by the name of another number in
    scope.
    """
    for text, node in iter_nodes_on(program, lines, ast.Name, ast.Attribute):
        inside = text.parent(node)
        while isinstance(inside, ast.BinOp | ast.Tuple | ast.List | ast.keyword):
            inside = text.parent(inside)
        if not isinstance(inside, ast.Call) or inside.func is node:
            continue
        written = text.written(node)
        for name in [
            other_name
            for other_name in _iter_other_names(text, node)
            if other_name != written
        ][:MOST]:
            shown = text.written(inside)
            message = f"`{name}` for `{written}`"
            if "\n" not in shown and len(shown) <= 72:
                start = text.span(node).column - text.span(inside).column
                message = f"`{shown[:start]}{name}{shown[start + len(written) :]}`"
            yield Fix("fits", message, (Edit(text.span(node), name),))


def _iter_other_names(text: SourceText, node: ast.expr) -> Iterator[str]:
    """Yield names of numbers that may replace a name or an attribute of `self`.

    For a name of a constructor its parameters and the numbers that it works out; for
    `self.size` the other numbers that the class keeps.
    """
    scope = text.around(node, ast.FunctionDef)
    if scope is None:
        return
    if isinstance(node, ast.Name) and scope.name == "__init__":
        own = [
            parameter.arg
            for parameter in (*scope.args.args[1:], *scope.args.kwonlyargs)
        ]
        own += [name for name, _ in _iter_number_names(scope, ast.Name, node.lineno)]
        if node.id in own:
            yield from dict.fromkeys(own)
    elif get_own_attribute(node):
        owner = text.around(node, ast.ClassDef)
        if owner is not None:
            own = [
                f"self.{name}"
                for name, _ in _iter_number_names(owner, ast.Attribute, None)
            ]
            if text.written(node) in own:
                yield from dict.fromkeys(own)


def _iter_number_names(
    scope: ast.AST, kind: type[ast.AST], before: int | None
) -> Iterator[tuple[str, ast.expr]]:
    """Yield names, or attributes of `self`, that are assigned a number in a scope."""
    for target, value in iter_assignments(scope, before):
        if isinstance(value, ast.Name | ast.BinOp | ast.Constant | ast.Attribute):
            if isinstance(target, kind) and isinstance(target, ast.Name):
                yield target.id, value
            elif isinstance(target, kind) and get_own_attribute(target):
                yield get_own_attribute(target), value
