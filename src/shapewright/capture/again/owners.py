"""The model around a call that failed, and where its layers were constructed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import getcwd, sep
from typing import Any

from torch import nn

from shapewright.capture.again.standing import Stack
from shapewright.capture.failing.built import Built, arguments_of, kept_values
from shapewright.capture.positions import source_of
from shapewright.capture.sites import TORCH
from shapewright.source.expressions import Text
from shapewright.source.span import Span

LONGEST = 30
"""Characters of an expression that stands for a layer's name."""


@dataclass(slots=True)
class Owner:
    """The outermost module among the frames, and all inside it by their paths.

    A layer that the program calls by a name of its own has this name: `head` for the
    `head(x)` of a script.
    """

    root: nn.Module | None = None
    modules: list[tuple[str, nn.Module]] = field(default_factory=list)
    here: Text | None = None
    node: ast.AST | None = None
    texts: dict[str, Text] = field(default_factory=dict)

    def path_of(self, module: Any) -> str | None:
        """The path of a module, None for another object."""
        return next((path for path, each in self.modules if each is module), None)

    def built(self, paths: Iterable[str]) -> dict[str, Built]:
        """Where modules were constructed, as far as the text of their owners tells."""
        found = {}
        for path in paths:
            module = next((each for name, each in self.modules if name == path), None)
            place = self.constructed(path) if module is not None else None
            if module is None or place is None or place[0].file.startswith(TORCH):
                continue
            text, node = place
            kind = type(module)
            if isinstance(node, ast.Call) and last_name(node.func) == kind.__name__:
                names = arguments_of(kind)
                kept = tuple(kept_values(module, names))
                found[path] = Built(
                    relative(text.span(node)), kind.__name__, names, kept
                )
        return found

    def constructed(self, path: str) -> tuple[Text, ast.expr] | None:
        """The one expression that a module was given its name with."""
        named = dict(self.modules)
        names = path.split(".")
        tries = range(len(names) + 1)
        inside = next((n for n in tries if prefix(names, n) in named), 0)
        owner = named.get(prefix(names, inside))
        found = self.variable(prefix(names, inside))
        for name in names[inside:]:
            if owner is None:
                return None
            if isinstance(owner, nn.Sequential | nn.ModuleList) and found is not None:
                found = element(found, name)
            else:
                found = self.assigned(type(owner), name)
            owner = owner._modules.get(name)
        return found

    def sources(self) -> dict[str, str]:
        """The texts that were read, by the names of the files as they are told."""
        return {relative_name(name): text.text for name, text in self.texts.items()}

    def variable(self, name: str) -> tuple[Text, ast.expr] | None:
        """What the function that failed, or else its file, gives a name, if once."""
        here = self.here
        if here is None or here.tree is None or not name.isidentifier():
            return None
        around = here.around(self.node, *FUNCTIONS) if self.node is not None else None
        for scope in (around, here.tree):
            found = [
                value
                for node in within(scope)
                if isinstance(node, ast.Assign)
                for target, value in pairs(node)
                if isinstance(target, ast.Name) and target.id == name
            ]
            if found:
                return (here, found[0]) if len(found) == 1 else None
        return None

    def assigned(self, kind: type, name: str) -> tuple[Text, ast.expr] | None:
        """What stands behind `self.name =` in the constructor of a class."""
        for each in kind.__mro__:
            made = vars(each).get("__init__")
            code = getattr(made, "__code__", None)
            text = self.text(code.co_filename) if code is not None else None
            if text is None or code is None:
                continue
            found = list(assignments(text, code.co_firstlineno, name))
            if found:
                return (text, found[0]) if len(found) == 1 else None
        return None

    def text(self, file: str) -> Text | None:
        """A file, parsed once."""
        if file not in self.texts:
            source = source_of(file)
            if source is None or source.text is None:
                return None
            self.texts[file] = Text(file, source.text)
        return self.texts[file]


def owner_of(
    stack: Stack, here: Text | None, node: ast.AST | None, written: str
) -> Owner:
    """The outermost module whose method is among the frames.

    `here` is the text in which it fails, `node` what fails, `written` what it calls.
    """
    given = (each.first for each in stack.frames)
    modules = [each for each in given if isinstance(each, nn.Module)]
    if not modules:
        return Owner(here=here, node=node)
    root = modules[0]
    first = stack.below[0].first if stack.below else None
    name = ""
    if first is root and stack.here.first is not root:
        short = 0 < len(written) <= LONGEST
        name = written if short else type(root).__name__
    named = [
        (".".join(filter(None, (name, path))), module)
        for path, module in root.named_modules()
    ]
    return Owner(root, named, here, node)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def within(scope: ast.AST | None) -> Iterator[ast.AST]:
    """The nodes of a function or a file, without functions and classes inside."""
    for node in ast.iter_child_nodes(scope) if scope is not None else ():
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node
            yield from within(node)


def pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target with its value, those of `a, b = x, y` too."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def prefix(names: list[str], count: int) -> str:
    """The first names of a path."""
    return ".".join(names[:count])


def assignments(text: Text, line: int, name: str) -> Iterator[ast.expr]:
    """What `self.name` is given in the function that begins on a line."""
    for function in text.near(line):
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr == name:
                    yield node.value


def element(given: tuple[Text, ast.expr], name: str) -> tuple[Text, ast.expr] | None:
    """What a container of layers was given at a place."""
    text, node = given
    if not isinstance(node, ast.Call) or not name.isdecimal():
        return None
    items = node.args
    if last_name(node.func) == "ModuleList" and len(items) == 1:
        inner = items[0]
        if isinstance(inner, ast.ListComp | ast.GeneratorExp):
            return text, inner.elt
        items = inner.elts if isinstance(inner, ast.List | ast.Tuple) else []
    elif last_name(node.func) != "Sequential":
        return None
    found = items[: int(name) + 1]
    if len(found) <= int(name) or any(isinstance(each, ast.Starred) for each in found):
        return None
    return text, found[-1]


def last_name(node: ast.expr) -> str:
    """`Linear` of `nn.Linear`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def relative(span: Span) -> Span:
    """A place as it is told: files of the working folder without it."""
    file = relative_name(span.file)
    return Span(file, span.line, span.column, span.end_line, span.end_column)


def relative_name(file: str) -> str:
    """The name of a file as it is told."""
    return file.removeprefix(f"{getcwd()}{sep}")
