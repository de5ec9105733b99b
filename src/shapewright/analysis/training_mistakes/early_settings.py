"""Find attributes that a class sets before `super().__init__()`, which then overwrites
them: the setting has no effect.

class Core(Base):
    def __init__(self):
        self.norm = nn.LayerNorm
        super().__init__()  # sets `self.norm = nn.BatchNorm1d`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.late_settings import (
    find_method,
    iter_derived_classes,
)
from shapewright.findings.codes import SIZE_ATTRIBUTE_SET
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_own_attribute,
    list_parameters,
)

EMPTY = (ast.List, ast.Dict, ast.Tuple)
ASKING = ("hasattr", "getattr")


def find_early_settings(scene: RehearsalContext) -> Iterator[Finding]:
    """Find attributes that the `__init__` of a base class sets to something else."""
    for text in scene.program.own_texts():
        for owner, base, own, start, _ in iter_derived_classes(text):
            for setting in _list_early(own, start):
                again = _find_overwriting(text, (owner, base), setting, start)
                if again is not None and _is_built(text, owner.name):
                    name = text.written(setting.targets[0])
                    yield build_finding(
                        SIZE_ATTRIBUTE_SET,
                        f"`{name}` is set before `{text.line_of(start)}`, where"
                        f" `{base.name}` sets it to `{text.line_of(again.value)}`:"
                        " this setting has no effect",
                        text.span(setting),
                        (text.span(again), "it is overwritten here"),
                    )


def _is_built(text: SourceText, name: str) -> bool:
    """Return whether a text builds an object of a class."""
    return any(
        isinstance(node, ast.Call) and get_called_name(node) == name
        for node in text.nodes
    )


def _list_early(own: ast.FunctionDef, start: ast.stmt) -> list[ast.Assign]:
    """Return the statements that set an attribute to a value of its own before the base
    class begins.
    """
    front = own.body[: own.body.index(start)]
    return [
        node
        for part in front
        for node in ast.walk(part)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and get_own_attribute(node.targets[0])
        and not isinstance(node.value, EMPTY)
        and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    ]


def _find_overwriting(
    text: SourceText,
    classes: tuple[ast.ClassDef, ast.ClassDef],
    setting: ast.Assign,
    start: ast.stmt,
) -> ast.Assign | None:
    """Return the statement in the base class's `__init__` that always sets an attribute
    to another value before anything has read it, or None.
    """
    owner, base = classes
    own, begin = find_method(owner, "__init__"), find_method(base, "__init__")
    name = get_own_attribute(setting.targets[0])
    if own is None or begin is None or not _is_read(text, name):
        return None
    is_property = any(find_method(part, name) is not None for part in classes)
    later = [n for part in own.body[own.body.index(start) :] for n in ast.walk(part)]
    is_set_again = any(
        get_own_attribute(node) == name and _is_store(node) for node in later
    )
    if is_property or is_set_again:
        return None
    for statement in begin.body:
        if isinstance(statement, ast.Assign) and name in _list_set(statement):
            is_same = _is_same_value(text, setting, statement, start, begin)
            return None if is_same else statement
        if _is_read_in(statement, classes, name):
            return None
    return None


def _list_set(statement: ast.Assign) -> list[str]:
    """Return the attribute that a statement sets, if it is the only target."""
    names = [get_own_attribute(target) for target in statement.targets]
    return names if len(names) == 1 else []


def _is_store(node: ast.AST) -> bool:
    """Return whether a node is written to."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _is_read(text: SourceText, name: str) -> bool:
    """Return whether a text reads an attribute of this name of any object."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Load)
        for node in text.nodes
    )


def _is_read_in(
    statement: ast.AST,
    classes: tuple[ast.ClassDef, ast.ClassDef],
    name: str,
    depth: int = 0,
) -> bool:
    """Return whether a statement reads or asks for an attribute, in a method of the
    classes that it calls too.
    """
    for node in ast.walk(statement):
        if get_own_attribute(node) == name:
            return True
        if not isinstance(node, ast.Call):
            continue
        words = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if get_called_name(node) in ASKING and name in words:
            return True
        called = get_own_attribute(node.func)
        methods = [find_method(part, called) for part in classes] if called else []
        if depth < 2 and any(
            _is_read_in(method, classes, name, depth + 1)
            for method in methods
            if method is not None
        ):
            return True
    return False


def _is_same_value(
    text: SourceText,
    setting: ast.Assign,
    again: ast.Assign,
    start: ast.stmt,
    begin: ast.FunctionDef,
) -> bool:
    """Return whether the base class may set an attribute to what it was set to: the
    same expression, or one of arguments that the class hands over or may hand over.
    """
    if text.line_of(setting.value) == text.line_of(again.value):
        return True
    call = start.value if isinstance(start, ast.Expr) else None
    handed = collect_names(again.value) & {*list_parameters(begin)}
    if not isinstance(call, ast.Call) or not handed:
        return not isinstance(call, ast.Call)
    is_open = any(isinstance(part, ast.Starred) for part in call.args)
    is_open |= any(word.arg is None for word in call.keywords)
    parameters = list_parameters(begin)[1:]
    passed = {*parameters[: len(call.args)], *(word.arg for word in call.keywords)}
    return is_open or bool(handed & passed)
