"""What a name of a program stands for, read from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.source.expressions import Text


def defining(text: Text, name: str) -> list[ast.expr]:
    """Expressions that a name stands for, anywhere in its file."""
    found = text.defined.get(name)
    if found is None:
        found = text.defined[name] = list(given(text, name))
    return found


def given(text: Text, name: str) -> Iterator[ast.expr]:
    """What a name is set to, handed or defaults to."""
    assert text.tree is not None
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args]
            given = arguments.defaults
            pairs = list(zip(named[len(named) - len(given) :], given, strict=True))
            for each, value in zip(
                arguments.kwonlyargs, arguments.kw_defaults, strict=True
            ):
                if value is not None:
                    pairs.append((each, value))
            for argument, value in pairs:
                if argument.arg == name:
                    yield value
            place = place_of(node, name)
            if place is not None:
                yield from handed(text, node, place)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            own = target.id if isinstance(target, ast.Name) else ""
            own = target.attr if isinstance(target, ast.Attribute) else own
            if own == name:
                yield node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name) and node.target.id == name:
                yield node.value
        elif isinstance(node, ast.keyword) and node.arg == name:
            yield node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value


def place_of(node: ast.FunctionDef, name: str) -> int | None:
    """The place of a parameter in a call of the function; `self` is not given."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    if name not in names:
        return None
    return names.index(name) - (1 if names[:1] == ["self"] else 0)


def handed(text: Text, node: ast.FunctionDef, place: int) -> Iterator[ast.expr]:
    """What calls of a function, or of the class that it builds, give at a place."""
    assert text.tree is not None
    owner = text.around(node, ast.ClassDef)
    name = node.name
    if name == "__init__" and isinstance(owner, ast.ClassDef):
        name = owner.name
    for call in ast.walk(text.tree):
        if isinstance(call, ast.Call) and 0 <= place < len(call.args):
            called = call.func
            own = called.id if isinstance(called, ast.Name) else ""
            own = called.attr if isinstance(called, ast.Attribute) else own
            if own == name and not isinstance(call.args[place], ast.Starred):
                yield call.args[place]
