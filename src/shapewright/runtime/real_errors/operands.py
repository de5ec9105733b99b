"""What a call was given, where a frame of torch's below it holds that."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch import Tensor, nn

from shapewright.runtime.real_errors.guards import ASKS_OWN, attribute
from shapewright.runtime.real_errors.tracebacks import Stack, Standing, rebound

CALLS = frozenset({"_wrapped_call_impl", "_call_impl"})
"""The methods in which torch holds what a layer was called with."""


def operands(stack: Stack, node: ast.AST) -> dict[str, Any]:
    """The arguments of a call by the dump of their expressions, and what is called.

    Nothing is computed a second time that torch has in its hands.
    """
    if not stack.below or not isinstance(node, ast.Call):
        return {}
    frame, called = stack.below[0], named(stack.here, node.func)
    held, own = frame.frame.f_locals, {}
    if frame.code.co_name in CALLS:
        given = {**dict(enumerate(held.get("args", ()))), **held.get("kwargs", {})}
        if not is_call_of(node, called, frame.first, given):
            return {}
        own = {ast.dump(node.func): frame.first}
    elif code_of(called, node.func) is frame.code:
        given, tensor = given_to(frame), held.get("self")
        if isinstance(tensor, Tensor) and isinstance(node.func, ast.Attribute):
            own = {ast.dump(node.func.value): tensor}
    else:
        return {}
    stars = [isinstance(each, ast.Starred) for each in node.args]
    plain = node.args[: stars.index(True)] if True in stars else node.args
    found = {ast.dump(each): given[n] for n, each in enumerate(plain) if n in given}
    for word in node.keywords:
        if word.arg in given:
            found[ast.dump(word.value)] = given[word.arg]
    return {**found, **own}


def is_call_of(
    node: ast.Call, called: Any, module: Any, given: dict[int | str | None, Any]
) -> bool:
    """Whether a call in the text is that of a module with what it was given.

    What a call gives (`nn.MSELoss()(x, y)`) is known by what goes in.
    """
    if called is not ASKS_OWN:
        return called is module
    words = {word.arg for word in node.keywords}
    stars = None in words or any(isinstance(each, ast.Starred) for each in node.args)
    count = sum(type(name) is int for name in given)
    names = {name for name in given if isinstance(name, str)}
    return isinstance(module, nn.Module) and (
        stars or (count == len(node.args) and names == words)
    )


def named(standing: Standing, node: ast.expr) -> Any:
    """What names, attributes and items stand for; `ASKS_OWN` where they do not tell."""
    frame = standing.frame
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = named(standing, node.value)
        return ASKS_OWN if owner is ASKS_OWN else attribute(owner, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner, at = named(standing, node.value), node.slice.value
        if isinstance(owner, nn.Sequential | nn.ModuleList | nn.ModuleDict):
            at = at % max(len(owner), 1) if isinstance(at, int) else at
            return owner._modules.get(str(at), ASKS_OWN)
        if type(owner) in (list, tuple, dict):
            try:
                return owner[at]
            except LookupError:
                return ASKS_OWN
    return ASKS_OWN


def code_of(called: Any, node: ast.expr) -> Any:
    """The code of what is called; a method of an unknown object is a tensor's."""
    if called is ASKS_OWN and isinstance(node, ast.Attribute):
        called = getattr(Tensor, node.attr, None)
    return getattr(getattr(called, "__func__", called), "__code__", None)


def given_to(frame: Standing) -> dict[int | str | None, Any]:
    """What a function of torch's holds of its arguments: by place, and by name.

    One that it gave another value is left out.
    """
    code, held = frame.code, frame.frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    names, lost = code.co_varnames[:count], rebound(code)
    own = 1 if names[:1] == ("self",) else 0
    found: dict[int | str | None, Any] = {}
    for at, name in enumerate(names):
        if name not in lost and name in held:
            found[name] = held[name]
            if own <= at < code.co_argcount:
                found[at - own] = held[name]
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[count] not in lost:
        rest = held.get(code.co_varnames[count], ())
        found |= {code.co_argcount - own + n: value for n, value in enumerate(rest)}
    return found
