"""The lists of parameters that a program gives to its optimizers, as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name


@dataclass(frozen=True, slots=True)
class ParameterList:
    """An optimizer's call, its list of parameters and the `X.parameters()` in it."""

    call: ast.Call
    listed: ast.expr
    parts: tuple[ast.Call, ...]

    @property
    def owners(self) -> list[str]:
        """The modules whose parameters are listed, as the program writes them."""
        return [_get_owner(part) for part in self.parts]

    @property
    def repeated(self) -> ast.Call | None:
        """The `X.parameters()` that is in the list a second time, or None."""
        owners = self.owners
        for at, owner in enumerate(owners):
            if owner in owners[:at]:
                return self.parts[at]
        return None


def iter_parameter_lists(text: SourceText) -> Iterator[ParameterList]:
    """Yield the parameter lists of optimizers: in the call, or in a name before it."""
    for node in text.nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if not get_called_name(node)[:1].isupper():
            continue
        listed = _find_listed(text, node)
        parts = [
            call
            for call in ast.walk(listed)
            if isinstance(call, ast.Call)
            and get_called_name(call) == "parameters"
            and _get_owner(call)
        ]
        if parts:
            parts.sort(key=lambda call: (call.lineno, call.col_offset))
            yield ParameterList(node, listed, tuple(parts))


def _find_listed(text: SourceText, call: ast.Call) -> ast.expr:
    """Return the first argument of a call, or what its name was given before."""
    first = call.args[0]
    function = text.around(call, ast.FunctionDef)
    scope = text.tree if function is None else function
    if not isinstance(first, ast.Name) or scope is None:
        return first
    values = [
        node.value
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and node.lineno < call.lineno
        and any(
            isinstance(target, ast.Name) and target.id == first.id
            for target in node.targets
        )
    ]
    return values[-1] if values else first


def find_unlisted(text: SourceText, listed: ParameterList) -> list[str]:
    """Return the names, built beside the modules of a list, that no list has."""
    all_owners = {
        owner for other in iter_parameter_lists(text) for owner in other.owners
    }
    own = all(owner.startswith("self.") for owner in listed.owners)
    owner: ast.AST | None = text.around(listed.call, ast.ClassDef)
    scope = owner if own else text.tree
    names: list[str] = []
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if not get_called_name(node.value)[:1].isupper():
            continue
        for target in node.targets:
            name = get_dotted_name(target)
            if name.startswith("self.") == own and name not in (*all_owners, *names):
                names.append(name)
    return names


def _get_owner(call: ast.Call) -> str:
    """Return `X` of `X.parameters()`."""
    func = call.func
    return (
        (get_dotted_name(func.value) or "") if isinstance(func, ast.Attribute) else ""
    )
