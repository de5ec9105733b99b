"""Functions that make a model rather than being what inputs are given to."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from types import FunctionType
from typing import Any

from shapewright.inputs.lookup import required
from shapewright.source.targets import own_nodes

_BUILDER = re.compile(r"_*(build|make|create)|\w*(model|net|network)", re.I)
_SELF = frozenset(
    "to cuda cpu eval train half float double bfloat16 requires_grad_".split()
)
"""Methods of a module that return it."""
_DEEP = 3
"""Functions that call each other before one returns a module."""


def is_builder(found: Any) -> bool:
    """Whether a function can be called without arguments and makes the model.

    It says that it returns a module, by its annotation or in its text, or is named
    like a builder (`build`, `make_model`, `get_net`) and says nothing.
    """
    if not isinstance(found, FunctionType) or required(found):
        return False
    if returns_module(found):
        return True
    named = _BUILDER.fullmatch(found.__name__) is not None
    return found.__annotations__.get("return") is None and named


def returns_module(found: Any, deep: int = _DEEP) -> bool:
    """Whether a function's annotation or text says that it returns a module."""
    if not isinstance(found, FunctionType) or not deep:
        return False
    returned = found.__annotations__.get("return")
    if returned is not None:
        named = isinstance(returned, str) and returned.endswith("Module")
        return named or _is_module_class(_resolved(found, returned))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    except (OSError, TypeError, SyntaxError):
        return False
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        return False
    nodes = list(own_nodes(tree.body[0]))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return False
    made = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _makes_module(found, node.value, deep)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    values = [_unwrapped(n.value) for n in nodes if isinstance(n, ast.Return)]
    return any(
        (isinstance(value, ast.Name) and value.id in made)
        or (value is not None and _makes_module(found, value, deep))
        for value in values
    )


def _unwrapped(value: ast.expr | None) -> ast.expr | None:
    """The module in ``module.to(device).eval()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _SELF:
            break
        value = value.func.value
    return value


def _makes_module(found: FunctionType, value: ast.expr, deep: int) -> bool:
    """Whether an expression in a function builds a module: ``Net(3).eval()``."""
    call = _unwrapped(value)
    if not isinstance(call, ast.Call):
        return False
    called = _resolved(found, ast.unparse(call.func))
    return _is_module_class(called) or returns_module(called, deep - 1)


def _resolved(found: FunctionType, name: Any) -> Any:
    """What a dotted name stands for in a function's file; None where it is local."""
    if not isinstance(name, str):
        return name
    first, *rest = name.split(".")
    value = found.__globals__.get(first)
    for each in rest:
        value = inspect.getattr_static(value, each, None)
    return value


def _is_module_class(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and isinstance(value, type)
        and issubclass(value, torch.nn.Module)
    )
