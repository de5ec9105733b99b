"""Find states of recurrent layers that a program keeps and detaches from call to call,
and that no layer is given.

That a state is detached says that the next call was to begin with it: nothing else
needs a state without its graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import RECURRENT, HazardContext
from shapewright.findings.codes import STATE_DROPPED
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
    list_reads,
)

CUTTING = re.compile(r"detach|repackage")
"""In the names of functions that return a state without its graph."""
HOLDERS = frozenset({"tuple", "list", "map", "clone", "to", "Variable"})
"""Calls in which a state without its graph stays the same state."""


def find_unread_states(scene: HazardContext) -> Iterator[Finding]:
    """Find calls of recurrent layers without a state in a class, or behind a parameter,
    that has one: `out, self.hidden = self.lstm(x)`.
    """
    seen: set[object] = set()
    for call in scene.calls:
        place = scene.program.call_at(call.op.span)
        if call.name not in RECURRENT or call.op.span in seen or place is None:
            continue
        seen.add(call.op.span)
        text, node = place
        if len(node.args) != 1 or node.keywords:
            continue
        method = text.around(node, ast.FunctionDef)
        kind = text.parent(method)
        if method is None or not isinstance(kind, ast.ClassDef):
            continue
        texts = [other for other in scene.program.own_texts() if other is not None]
        kept = _find_kept_attribute(texts, kind) or _find_kept_parameter(
            texts, method, node
        )
        if kept is None:
            continue
        name, where, cut = kept
        layer = text.written(node.func)
        message = (
            f"each call of `{layer}` begins with zeros: `{name}`, which is kept and"
            " detached for the next one, is given to no layer"
        )
        finding = scene.finding(STATE_DROPPED, call.op, message)
        yield _add_place(finding, where, cut)


def _add_place(finding: Finding, text: SourceText, cut: ast.stmt) -> Finding:
    """Return a finding with the statement that detaches a state."""
    related = Related(text.span(cut), "it is detached here")
    return replace(finding, related=(*finding.related, related))


Kept = tuple[str, SourceText, ast.stmt]
"""The name of a state in its method, and the statement that detaches it."""


def _find_kept_attribute(texts: list[SourceText], kind: ast.ClassDef) -> Kept | None:
    """Return the attribute of a class that is begun somewhere, replaced by itself
    without its graph, and read nowhere else.
    """
    names = {
        node.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if get_dotted_name(node.value) == "self"
    }
    for name in sorted(names):
        cuts: list[tuple[SourceText, ast.stmt]] = []
        is_begun = is_read = False
        for text in texts:
            for node in text.nodes:
                if isinstance(node, ast.Constant) and node.value == name:
                    is_read = True  # by `getattr`
                if not isinstance(node, ast.Attribute) or node.attr != name:
                    continue
                statement = text.statement_of(node)
                if isinstance(node.ctx, ast.Store):
                    is_begun = is_begun or _is_beginning(statement, name)
                elif _is_cut(statement, name):
                    cuts.append((text, statement))
                elif not _is_asked_for_none(text.parent(node)):
                    is_read = True
        if is_begun and cuts and not is_read:
            return f"self.{name}", *cuts[0]
    return None


def _is_beginning(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement gives an attribute its first state: zeros, or what a
    method makes without a tensor.
    """
    value = statement.value if isinstance(statement, ast.Assign) else None
    if value is None or _is_cut(statement, name):
        return False
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    names = {get_called_name(node) for node in calls}
    return any("zeros" in called or "init" in called for called in names)


def _is_cut(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement sets a state to itself without its graph."""
    if not isinstance(statement, ast.Assign):
        return False
    targets = {get_last_name(target) for target in statement.targets}
    parts = list(ast.walk(statement.value))
    own = [
        node
        for node in parts
        if isinstance(node, ast.Attribute | ast.Name) and get_last_name(node) == name
    ]
    called = [get_called_name(node) for node in parts if isinstance(node, ast.Call)]
    is_without = any(CUTTING.search(word) for word in called) or any(
        isinstance(node, ast.Attribute) and node.attr == "data" for node in parts
    )
    return (
        targets == {name}
        and bool(own)
        and is_without
        and all(word in HOLDERS or CUTTING.search(word) for word in called)
    )


def _is_asked_for_none(node: ast.AST | None) -> bool:
    """Return whether an expression only asks whether there is a state."""
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)


def _find_kept_parameter(
    texts: list[SourceText], method: ast.FunctionDef, call: ast.Call
) -> Kept | None:
    """Return the parameter of a method which the program gives a state that it cuts
    from its graph, and which the method does not read before the layer's call.
    """
    names = [argument.arg for argument in method.args.args]
    for text in texts:
        for node in text.nodes if len(names) > 1 else ():
            if not isinstance(node, ast.Assign) or text.around(node, ast.For) is None:
                continue
            target = node.targets[0]
            if not isinstance(target, ast.Name) or not _is_cut(node, target.id):
                continue
            place = _find_place_in_call(text, node, target.id)
            if place is None or place + 1 >= len(names):
                continue
            name = names[place + 1]
            if not _is_read_before(method, name, call):
                return name, text, node
    return None


def _find_place_in_call(text: SourceText, cut: ast.Assign, name: str) -> int | None:
    """Return at which place a loop hands a state to a call that returns the next one:
    1 for `out, state = model(x, state)`.
    """
    for statement in ast.walk(text.around(cut, ast.For) or cut):
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
            continue
        handed = [get_dotted_name(argument) for argument in value.args]
        target = statement.targets[0]
        returned = target.elts if isinstance(target, ast.Tuple) else []
        is_next = name in [get_dotted_name(part) for part in returned]
        if is_next and name in handed[1:]:
            return handed.index(name)
    return None


def _is_read_before(method: ast.FunctionDef, name: str, call: ast.Call) -> bool:
    """Return whether a method reads a parameter otherwise than as the state that the
    call of a layer in it returns.
    """
    set_at = min(
        (
            node.lineno
            for node in method.body
            if isinstance(node, ast.Assign) and node.value is call
            if name in collect_names(node, ast.Store)
        ),
        default=None,
    )
    return any(
        set_at is None or node.lineno <= set_at for node in list_reads(method, name)
    )
