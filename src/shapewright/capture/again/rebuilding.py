"""A layer constructed as a changed text says."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from torch import nn

from shapewright.capture.again.owners import Owner
from shapewright.source.expressions import Text

COMPUTED = (
    ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
    ast.expr_context, ast.Tuple, ast.List,
)  # fmt: skip
"""What an argument of a constructor may be made of: nothing that runs anything."""


def rebuilt(
    owner: Owner, paths: Iterable[str], texts: Mapping[str, str]
) -> dict[str, partial[nn.Module]]:
    """The layers among `paths` whose construction is another in these texts.

    `texts` are by absolute path. Each answer makes the layer, without a size of it
    being allocated where it is called in a run.
    """
    found = {}
    for path in paths:
        module = dict(owner.modules).get(path)
        place = owner.constructed(path) if module is not None else None
        if module is None or place is None:
            continue
        text, node = place
        changed = texts.get(os.path.abspath(text.file))
        if changed is None or changed == text.text:
            continue
        new = Text(text.file, changed).along(text.way(node))
        if ast.dump(node) == ast.dump(new or node):
            continue
        arguments = arguments_of(owner, path, node, new)
        if arguments is not None:
            found[path] = partial(made_like, module, *arguments)
    return found


def arguments_of(
    owner: Owner, path: str, before: ast.AST, after: ast.AST | None
) -> tuple[list[Any], dict[str, Any]] | None:
    """What a changed constructor is given; None where the text does not tell.

    An argument that did not change is what the layer kept of it.
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
            args.append(value_of(name, node, old, kept))
        for word in after.keywords:
            if word.arg is None:
                return None
            words[word.arg] = value_of(word.arg, word.value, old, kept)
    except Untold:
        return None
    return args, words


class Untold(Exception):
    """A value that the text does not tell."""


def value_of(
    name: str, node: ast.expr, old: Mapping[str, ast.expr], kept: Mapping[str, Any]
) -> Any:
    """The value of an argument: as it was kept, or computed from numbers."""
    before = old.get(name)
    if before is not None and name in kept and ast.dump(before) == ast.dump(node):
        return kept[name]
    if not all(isinstance(each, COMPUTED) for each in ast.walk(node)):
        raise Untold(name)
    names = {}
    if isinstance(before, ast.Name) and name in kept:
        names[before.id] = kept[name]  # `hidden + 1`, where `hidden` was given
    try:
        code = compile(ast.Expression(node), "", "eval")
        return eval(code, {"__builtins__": {}}, names)
    except Exception:
        raise Untold(name) from None


def made_like(module: nn.Module, args: list[Any], words: dict[str, Any]) -> nn.Module:
    """A layer of the same class with other arguments, where and as this one is."""
    made = type(module)(*args, **words)
    tensor = next(module.parameters(), None)
    if tensor is not None:
        made.to(tensor.device, tensor.dtype)
    return made.train(module.training)
