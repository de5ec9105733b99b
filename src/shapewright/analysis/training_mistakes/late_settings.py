"""Find attributes that a class sets behind `super().__init__()`, which has built an
object of their default already: the setting has no effect on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SIZE_ATTRIBUTE_SET
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    get_own_attribute,
)

LAZY = (ast.Lambda, ast.FunctionDef, ast.GeneratorExp)
"""What reads an attribute only when it is called or gone through."""


@dataclass(frozen=True)
class LateSetting:
    """Attributes that are set behind the call that reads their defaults."""

    text: SourceText
    owner: ast.ClassDef
    start: ast.stmt  # the call of the base class's `__init__`
    settings: tuple[ast.Assign, ...]
    building: ast.Assign  # in the base class


def find_late_settings(scene: RehearsalContext) -> Iterator[Finding]:
    """Find attributes that are set too late for what the base class builds of them."""
    for late in iter_late_settings(scene.program):
        names = [f"`{ast.unparse(node.targets[0])}`" for node in late.settings]
        built = ast.unparse(late.building.targets[0])
        base = late.text.around(late.building, ast.ClassDef)
        where = f"`{base.name}`" if base is not None else "the base class"
        start = late.text.written(late.start)
        first, *others = late.settings
        is_one = len(names) == 1
        yield build_finding(
            SIZE_ATTRIBUTE_SET,
            f"{' and '.join(names)} {'is' if is_one else 'are'} set behind"
            f" `{start}`, where {where} has built `{built}` of"
            f" {'its default' if is_one else 'their defaults'}: that stays as it is",
            late.text.span(first),
            (late.text.span(late.building), f"`{built}` is built here"),
            *((late.text.span(other), "set beside it") for other in others),
        )


Derived = tuple[ast.ClassDef, ast.ClassDef, ast.FunctionDef, ast.stmt, ast.FunctionDef]
"""A class and its base, the constructor of the first, the statement there that begins
the base, and the constructor of the base.
"""


def iter_derived_classes(text: SourceText) -> Iterator[Derived]:
    """Yield the classes of a text with a base class of the text, which they begin."""
    classes = {node.name: node for node in text.nodes if isinstance(node, ast.ClassDef)}
    for owner in classes.values():
        names = [get_last_name(base) for base in owner.bases]
        bases = [classes[name] for name in names if name in classes]
        own = find_method(owner, "__init__")
        if len(bases) != 1 or own is None or bases[0] is owner:
            continue
        start = next((part for part in own.body if _is_start(part)), None)
        begin = find_method(bases[0], "__init__")
        if start is not None and begin is not None:
            yield owner, bases[0], own, start, begin


def iter_late_settings(program: Program) -> Iterator[LateSetting]:
    """Yield the attributes that a class of the program sets behind the `__init__` of
    its base class, once for each object that is built there of their defaults.
    """
    for text in program.own_texts():
        for owner, base, own, start, begin in iter_derived_classes(text):
            if owner.col_offset or base.col_offset:
                continue
            defaults = _list_defaults(owner) | _list_defaults(base)
            settings = _list_settings(own, start, defaults)
            for building in _iter_buildings(text, owner, base, begin):
                read = _collect_read(building)
                late = tuple(
                    node
                    for node in settings
                    if get_own_attribute(node.targets[0]) in read
                )
                if late and _is_only_building(program, building, begin):
                    yield LateSetting(text, owner, start, late, building)


def find_method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return the method that a class itself defines, or None."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return None


def _is_start(node: ast.stmt) -> bool:
    """Return whether a statement is `super().__init__(...)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or get_called_name(call) != "__init__":
        return False
    return get_called_name(get_receiver(call) or call) == "super"


def _list_defaults(owner: ast.ClassDef) -> set[str]:
    """Return the attributes that the body of a class gives a value."""
    statements = [n for n in owner.body if isinstance(n, ast.Assign | ast.AnnAssign)]
    return {
        name
        for node in statements
        if node.value is not None
        for name in collect_names(node, ast.Store)
    }


def _list_settings(
    own: ast.FunctionDef, start: ast.stmt, defaults: set[str]
) -> list[ast.Assign]:
    """Return the statements behind the base class's `__init__` that set an attribute
    with a default, which nothing has set before it.
    """
    at = own.body.index(start)
    early = {
        get_own_attribute(part)
        for node in own.body[:at]
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
    }
    return [
        node
        for node in own.body[at + 1 :]
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and get_own_attribute(node.targets[0]) in defaults - early
    ]


def _iter_buildings(
    text: SourceText, owner: ast.ClassDef, base: ast.ClassDef, begin: ast.FunctionDef
) -> Iterator[ast.Assign]:
    """Yield what the `__init__` of a base class builds and keeps: itself, or in a
    method that it calls.
    """
    methods = [begin]
    for node in ast.walk(begin):
        name = get_own_attribute(node.func) if isinstance(node, ast.Call) else ""
        method = find_method(owner, name) or find_method(base, name)
        calls = [n for n in text.nodes if isinstance(n, ast.Call)]
        is_single = sum(get_called_name(call) == name for call in calls) == 1
        if method is not None and method not in methods and is_single:
            methods.append(method)
    for method in methods:
        for node in ast.walk(method):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            kept = get_own_attribute(node.targets[0])
            if kept and isinstance(node.value, ast.Call):
                yield node


def _collect_read(building: ast.Assign) -> set[str]:
    """Return the own attributes that are arguments of what is built."""
    read = set[str]()
    nodes: list[ast.AST] = [building.value]
    while nodes:
        node = nodes.pop()
        if isinstance(node, LAZY):
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            read.add(get_own_attribute(node))
        nodes += ast.iter_child_nodes(node)
    return read - {""}


def _is_only_building(
    program: Program, building: ast.Assign, begin: ast.FunctionDef
) -> bool:
    """Return whether what is built is read elsewhere, and nothing else sets it or what
    it is built of, on any object.
    """
    kept, read = get_own_attribute(building.targets[0]), _collect_read(building)
    is_read = False
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Attribute):
                continue
            if isinstance(node.ctx, ast.Store):
                if node.attr == kept and node is not building.targets[0]:
                    return False
                if get_own_attribute(node) in read and begin in text.outwards(node):
                    return False
            elif node.attr == kept:
                parent = text.parent(node)
                if isinstance(parent, ast.Attribute) and isinstance(
                    parent.ctx, ast.Store
                ):
                    return False  # a setting of the object itself
                is_read = True
    return is_read
