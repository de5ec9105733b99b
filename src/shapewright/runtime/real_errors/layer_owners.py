"""The model around a call that failed, and new constructions of its layers."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from os import getcwd, sep
from typing import Any

from torch import nn

from shapewright.engine.call_sites import TORCH, get_source
from shapewright.engine.failures.constructions import (
    ModuleConstruction,
    get_constructor_arguments,
    iter_kept_values,
)
from shapewright.program.expression_values import UnknownValue, evaluate_node
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
    iter_own_nodes,
)
from shapewright.runtime.real_errors.tracebacks import Stack

LONGEST = 30
"""Characters of an expression that is used as a layer's name, at most."""


@dataclass(slots=True)
class Owner:
    """The outermost module whose method failed, and all modules inside it by path.

    A layer that the program calls by a name of its own has this name: `head` for the
    `head(x)` of a script.
    """

    root: nn.Module | None = None
    modules: list[tuple[str, nn.Module]] = field(default_factory=list)
    here: SourceText | None = None
    node: ast.AST | None = None
    texts: dict[str, SourceText] = field(default_factory=dict)

    def path_of(self, module: Any) -> str | None:
        """Return the path of a module, or None for any other object."""
        return next(
            (path for path, submodule in self.modules if submodule is module), None
        )

    def built(self, paths: Iterable[str]) -> dict[str, ModuleConstruction]:
        """Return where modules were constructed, if their owners' source shows it."""
        constructions = {}
        for path in paths:
            module = next(
                (submodule for name, submodule in self.modules if name == path), None
            )
            place = self.find_constructor_call(path) if module is not None else None
            if module is None or place is None or place[0].file.startswith(TORCH):
                continue
            text, node = place
            kind = type(module)
            if get_called_name(node) == kind.__name__:
                names = get_constructor_arguments(kind)
                kept = tuple(iter_kept_values(module, names))
                constructions[path] = ModuleConstruction(
                    make_relative(text.span(node)), kind.__name__, names, kept
                )
        return constructions

    def find_constructor_call(self, path: str) -> tuple[SourceText, ast.expr] | None:
        """Return the only expression that is assigned to a module's name."""
        named = dict(self.modules)
        names = path.split(".")
        tries = range(len(names) + 1)
        inside = next((n for n in tries if _take_prefix(names, n) in named), 0)
        owner = named.get(_take_prefix(names, inside))
        call = self.variable(_take_prefix(names, inside))
        for name in names[inside:]:
            if owner is None:
                return None
            if isinstance(owner, nn.Sequential | nn.ModuleList) and call is not None:
                call = _find_element(call, name)
            else:
                call = self.assigned(type(owner), name)
            owner = owner._modules.get(name)
        return call

    def sources(self) -> dict[str, str]:
        """Return the source texts that were read, by the displayed file names."""
        return {
            _make_relative_name(name): text.text for name, text in self.texts.items()
        }

    def variable(self, name: str) -> tuple[SourceText, ast.expr] | None:
        """Return the only value of a name in the failed function or its file."""
        here = self.here
        if here is None or here.tree is None or not name.isidentifier():
            return None
        for scope in (here.around(self.node, *FUNCTIONS), here.tree):
            values = [
                value
                for node in iter_own_nodes(scope)
                if isinstance(node, ast.Assign)
                for target, value in _iter_pairs(node)
                if isinstance(target, ast.Name) and target.id == name
            ]
            if values:
                return (here, values[0]) if len(values) == 1 else None
        return None

    def assigned(self, kind: type, name: str) -> tuple[SourceText, ast.expr] | None:
        """Return the only expression assigned to `self.name` in a constructor."""
        for base in kind.__mro__:
            constructor = vars(base).get("__init__")
            code = getattr(constructor, "__code__", None)
            text = self.text(code.co_filename) if code is not None else None
            if text is None or code is None:
                continue
            values = list(_iter_assignments(text, code.co_firstlineno, name))
            if values:
                return (text, values[0]) if len(values) == 1 else None
        return None

    def text(self, file: str) -> SourceText | None:
        """Return the text of a file, which is read and parsed once."""
        if file not in self.texts:
            source = get_source(file)
            if source is None or source.text is None:
                return None
            self.texts[file] = SourceText(file, source.text)
        return self.texts[file]


def find_owner(
    stack: Stack, here: SourceText | None, node: ast.AST | None, written: str
) -> Owner:
    """Return the outermost module with a method among the frames of the stack.

    `here` is the text in which it fails, `node` what fails, `written` what it calls.
    """
    firsts = (frame.first for frame in stack.frames)
    modules = [
        first_argument
        for first_argument in firsts
        if isinstance(first_argument, nn.Module)
    ]
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


def _iter_pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment with its value, also for `a, b = x, y`."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _take_prefix(names: list[str], count: int) -> str:
    """Return the path made of the first `count` names."""
    return ".".join(names[:count])


def _iter_assignments(text: SourceText, line: int, name: str) -> Iterator[ast.expr]:
    """Yield the values assigned to `self.name` in the function at a line."""
    for function in text.near(line):
        if isinstance(function, ast.FunctionDef):
            for target, value in iter_assignments(function, annotated=True):
                if isinstance(target, ast.Attribute) and target.attr == name:
                    yield value


def _find_element(
    call: tuple[SourceText, ast.expr], name: str
) -> tuple[SourceText, ast.expr] | None:
    """Return the expression that constructs an item of a container of layers."""
    text, node = call
    if not isinstance(node, ast.Call) or not name.isdecimal():
        return None
    items = node.args
    if get_called_name(node) == "ModuleList" and len(items) == 1:
        inner = items[0]
        if isinstance(inner, ast.ListComp | ast.GeneratorExp):
            return text, inner.elt
        items = inner.elts if isinstance(inner, ast.List | ast.Tuple) else []
    elif get_called_name(node) != "Sequential":
        return None
    kept_items = items[: int(name) + 1]
    if len(kept_items) <= int(name) or any(
        isinstance(item, ast.Starred) for item in kept_items
    ):
        return None
    return text, kept_items[-1]


def make_relative(span: Span) -> Span:
    """Return a span whose file is relative to the working directory."""
    file = _make_relative_name(span.file)
    return Span(file, span.line, span.column, span.end_line, span.end_column)


def _make_relative_name(file: str) -> str:
    """Return the name of a file relative to the working directory."""
    return file.removeprefix(f"{getcwd()}{sep}")


def rebuild_layers(
    owner: Owner, paths: Iterable[str], texts: Mapping[str, str]
) -> dict[str, partial[nn.Module]]:
    """Return the layers among `paths` that changed texts construct differently.

    `texts` are by absolute path. Each value makes the layer; called in a run, it
    allocates no memory for it.
    """
    layers = {}
    for path in paths:
        module = dict(owner.modules).get(path)
        place = owner.find_constructor_call(path) if module is not None else None
        if module is None or place is None:
            continue
        text, node = place
        changed = texts.get(os.path.abspath(text.file))
        if changed is None or changed == text.text:
            continue
        new = SourceText(text.file, changed).along(text.way(node))
        if ast.dump(node) == ast.dump(new or node):
            continue
        arguments = _find_arguments(owner, path, node, new)
        if arguments is not None:
            layers[path] = partial(_make_layer_like, module, *arguments)
    return layers


def _find_arguments(
    owner: Owner, path: str, before: ast.AST, after: ast.AST | None
) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the arguments of a changed constructor call, or None if unknown.

    An argument that did not change is the value that the layer kept.
    """
    if not isinstance(before, ast.Call) or not isinstance(after, ast.Call):
        return None
    built = owner.built([path]).get(path)
    if built is None or ast.dump(before.func) != ast.dump(after.func):
        return None
    kept = dict(built.values)
    old = dict(zip(built.arguments, before.args, strict=False))
    old |= {word.arg: word.value for word in before.keywords if word.arg}
    args, words = [], {}
    try:
        for name, node in zip(built.arguments, after.args, strict=False):
            args.append(_evaluate_argument(name, node, old, kept))
        for word in after.keywords:
            if word.arg is None:
                return None
            words[word.arg] = _evaluate_argument(word.arg, word.value, old, kept)
    except UnknownValue:
        return None
    return args, words


def _evaluate_argument(
    name: str, node: ast.expr, old: Mapping[str, ast.expr], kept: Mapping[str, Any]
) -> Any:
    """Return the value of an argument, which the layer kept or which is computed."""
    before = old.get(name)
    if before is not None and name in kept and ast.dump(before) == ast.dump(node):
        return kept[name]
    names = {}
    if isinstance(before, ast.Name) and name in kept:
        names[before.id] = kept[name]  # `hidden + 1`, where `hidden` was given
    try:
        return evaluate_node(node, lambda name_node: names[get_dotted_name(name_node)])
    except Exception:  # the program's arithmetic
        raise UnknownValue(name) from None


def _make_layer_like(
    module: nn.Module, args: list[Any], words: dict[str, Any]
) -> nn.Module:
    """Return a layer like `module`, in its mode and on its device, with other
    arguments.
    """
    layer = type(module)(*args, **words)
    tensor = next(module.parameters(), None)
    if tensor is not None:
        layer.to(tensor.device, tensor.dtype)
    return layer.train(module.training)
